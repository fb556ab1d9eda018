"""The workbench: commands in, panes out as JSON, and the widget that shows them.

- ``widget``: The workbench in a notebook: ``lhkit.explore(payload, schedule)``.
- ``controller``: The controller: dispatches commands and questions, and renders the panes that have changed.
- ``workbench_core``: State of a workbench and the methods that commands, questions and panes use.
- ``screen``: What is looked at in a workbench: the step, the selection, the open tabs.
- ``commands``: Commands of the view, the history, knobs, runs, trials and trust.
- ``step_commands``: Commands and questions that edit the text: steps, forms, typing, and the file it is saved
  in.
- ``form_fields``: Steps from the fields of a form: what a reader typed, as the arguments of the builder's
  functions.
- ``text_questions``: Questions of the text's editor: its script, what can be written, what a word means.
- ``workbench_exports``: What a workbench can be exported as: a schedule, code, a report, a page, a bug
  report, itself.
- ``background_work``: Background work of a workbench: repair search, trials of ops on a handle, static check
  of the text.
- ``jobs``: Where the work of a workbench is done: commands one after the other, longer searches beside them.
- ``runs``: Runs, measurements and sweeps of a session: one at a time, in the background, cancellable.
- ``run_results``: Results of runs, measurements and sweeps, as values.
- ``pane``: A pane of the workbench: its cache key and its renderer.
- ``pane_top_bar``: Parts of the frame: the top bar, what is looked at, the notice, the steps to walk.
- ``pane_steps``: The part ``steps``: the rows of the schedule.
- ``step_rows``: The steps of a schedule as rows: what is drawn, and what tests look at.
- ``pane_text``: The part ``text``: the schedule's text, what is wrong in it, and which line is which step.
- ``pane_pictures``: Panes of pictures, and the questions for one frame of them: payload, timeline, schedule
  graph, tiles.
- ``pane_problems``: The pane ``problems``: failures and warnings, and the repairs that were tried, each as a
  button.
- ``pane_results``: The parts ``results`` and ``run``: what was run, measured and swept, as bars; what runs,
  and how far.
- ``pane_tried``: The pane ``tried``: the ops that apply to a handle, each as a button that adds the step.
"""
