"""The workbench: commands in, panes out as JSON, and the widget that shows them.

- ``widget``: The workbench in a notebook: ``lhkit.explore(payload, schedule)``.
- ``tab_server``: The workbench in a browser tab of its own: a small web server for one user of this machine.
- ``controller``: The controller: dispatches commands and questions, and renders the panes that have changed.
- ``workbench_core``: State of a workbench that commands, questions and panes share; cache key and renderer of
  a pane.
- ``screen``: View state of a workbench, field access for commands, and notices.
- ``layout_memory``: The layout that this user arranged last, kept in the state folder.
- ``commands``: Commands of a workbench and the questions of its forms: view, history, runs, edits of steps
  and text.
- ``form_fields``: Forms of steps: fields to builder arguments and back, their HTML, and the places where
  steps go.
- ``text_questions``: Questions of the text editor: its script, completions, and help on a word.
- ``workbench_exports``: Saved state and exports of a workbench: schedule, code, report, page, bug report, the
  workbench itself.
- ``neighbor_traces``: Traces of the neighbouring values of knobs, taken while nothing else is asked.
- ``jobs``: Job queues of a workbench, and its background work: repair search, trials of ops, the static check.
- ``runs``: Runs, measurements and sweeps of a session: one at a time, in the background, cancellable; their
  results.
- ``model_parts``: The parts of a model: cut in the background, profiled, each with a session of its own.
- ``pane_patches``: Patches of panes: what differs between the content that a page has and the new one.
- ``pane_top_bar``: Panes of the frame: top bar, trace, view state, notice and trust banner.
- ``pane_steps``: The pane ``steps``: the steps of a text with what the trace knows of them, as HTML, with
  knobs.
- ``pane_text``: The pane ``text``: the schedule with its diagnostics, and the steps of its lines.
- ``pane_pictures``: Panes of pictures, and the questions for one frame of them: payload, timeline, schedule
  graph, tiles.
- ``pane_parts``: The pane ``parts``: the parts of a model, each a bar that opens it.
- ``code_question``: The compiled code of the current version, in the background, linked to its trace.
- ``pane_code``: The pane ``code``: the hot loops by instruction, with payload lines, steps and the roofline.
- ``pane_guide``: The question ``facts`` of the guide: what is known of the selected step, handle or payload op.
- ``pane_problems``: Answers of the guide: ``problems`` (failures, warnings, repairs), ``tried`` (ops that apply
  to a handle) and ``fusion`` (why two ops are not fused).
- ``pane_results``: The panes ``results`` (results as bar charts), ``run`` (progress of the current run) and
  ``passes`` (a pass pipeline, pass by pass).
"""
