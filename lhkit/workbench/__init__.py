"""The workbench: commands in, parts of a screen out as JSON, and the widget that shows them.

- ``widget``: The workbench in a notebook: ``lhkit.explore(payload, schedule)``.
- ``controller``: A workbench: commands in, parts of a screen out.
- ``commands``: All commands by name.
- ``commands_history``: Commands that go back and forth: undo, redo, checkpoints, recovery, repairs.
- ``commands_knobs``: Commands for knobs.
- ``commands_screen``: Commands that look at something: a step, a handle, a pane.
- ``commands_tried``: Commands that try what can be done with a handle, and add what was tried.
- ``commands_trust``: Trusting what a workbench was opened from, and what waits for that.
- ``commands_runs``: Commands that run, measure and sweep, and that go back to what was measured.
- ``commands_steps``: Commands that change the steps.
- ``adding``: Adding steps from the catalogue and from recipes, and changing those that are there.
- ``commands_text``: Commands that change the text as such: typing, and the file that it is kept in.
- ``screen``: What is looked at in a workbench: the step, the selection, the open tabs.
- ``questions``: All questions by name.
- ``questions_text``: Questions of the text's editor: its script, what can be written, what a word means.
- ``questions_frames``: Questions for what is drawn of one step only: the payload after it.
- ``workbench_exports``: What a workbench can be exported as: a schedule, code, a report, a page, a bug
  report, itself.
- ``form_fields``: Steps from the fields of a form: what a reader typed, as the arguments of the builder's
  functions.
- ``pane``: What a part of the screen is.
- ``pane_list``: All parts of the screen, in the order in which they are made.
- ``pane_top_bar``: Parts of the frame: the top bar, what is looked at, the notice, the steps to walk.
- ``pane_handles``: The parts of the right side: the timeline of handles, the graph of the schedule, the tile
  picture.
- ``pane_payload``: The part ``payload``: the frame of the step that is shown when a trace is new; others are
  asked for.
- ``pane_problems``: The part ``problems``: what is wrong, and the repairs that were tried, each as a button.
- ``pane_results``: The parts ``results`` and ``run``: what was run, measured and swept, as bars; what runs,
  and how far.
- ``pane_steps``: The part ``steps``: the rows of the schedule.
- ``pane_text``: The part ``text``: the schedule's text, what is wrong in it, and which line is which step.
- ``pane_tried``: The part ``tried``: what can be done with a handle, each as a button that adds the step.
- ``jobs``: Where the work of a workbench is done: commands one after the other, longer searches beside them.
- ``runs``: Runs, measurements and sweeps of a session: one at a time, beside the commands, stopped at once.
- ``run_results``: What came of runs, measurements and sweeps of a session, as values.
- ``step_rows``: The steps of a schedule as rows: what is drawn, and what tests look at.
"""
