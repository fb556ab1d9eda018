"""The workbench: commands in, panes out as JSON, and the widget that shows them.

- ``widget``: The workbench in a notebook: ``lhkit.explore(payload, schedule)``.
- ``controller``: The controller: dispatches commands and questions, and renders the panes that have changed.
- ``workbench_core``: State of a workbench and the methods that commands, questions and panes use.
- ``screen``: View state of a workbench, field access for commands, and notices.
- ``commands``: Commands of the view, the history, knobs, runs, trials and trust.
- ``step_commands``: Commands and questions that edit the text: steps, forms, typing, and the file it is saved
  in.
- ``form_fields``: Forms of steps: fields to builder arguments and back, their HTML, and the places where
  steps go.
- ``text_questions``: Questions of the text editor: its script, completions, and help on a word.
- ``workbench_exports``: Saved state and exports of a workbench: schedule, code, report, page, bug report, the
  workbench itself.
- ``background_work``: Background work of a workbench: repair search, trials of ops on a handle, static check
  of the text.
- ``jobs``: Job queues of a workbench: commands in order, background jobs beside them.
- ``runs``: Runs, measurements and sweeps of a session: one at a time, in the background, cancellable.
- ``run_results``: Results of runs, measurements and sweeps, as values.
- ``pane``: A pane of the workbench: its cache key and its renderer.
- ``pane_top_bar``: Panes of the frame: top bar, trace, view state, notice and trust banner.
- ``pane_steps``: The pane ``steps``: the rows of the schedule as HTML, with its knobs.
- ``step_rows``: Rows of the steps pane: the steps of a text with what the trace knows of them.
- ``pane_text``: The pane ``text``: the schedule with its diagnostics, and the steps of its lines.
- ``pane_pictures``: Panes of pictures, and the questions for one frame of them: payload, timeline, schedule
  graph, tiles.
- ``pane_problems``: The pane ``problems``: failures and warnings, and the repairs that were tried, each as a
  button.
- ``pane_results``: The panes ``results`` (results as bar charts) and ``run`` (progress of the current run).
- ``pane_tried``: The pane ``tried``: the ops that apply to a handle, each as a button that adds the step.
"""
