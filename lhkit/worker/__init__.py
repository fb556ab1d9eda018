"""The wall: MLIR runs in a worker process, one request at a time, with limits; a worker that dies is replaced.

- ``requests``: Requests about payloads and schedules, each with the type of its answer.
- ``framing``: Framed MessagePack messages between client and worker, and the types of these messages.
- ``client``: The client's side of the wall: starts and replaces the worker, sends requests, enforces limits.
- ``spare_workers``: Spare workers: processes that have done their work and wait a minute for more.
- ``worker_process``: One worker process, from its start to its death: requests, limits, and what it asks for
  in return.
- ``forked_process``: A worker forked from its client: what the client has in memory and has imported is there
  at once.
- ``limits``: Time and memory limits of a request, with defaults from this machine or container.
- ``cancellation``: Cross-thread cancellation of the pending work of a session.
- ``shared_arrays``: Arrays across the wall: small ones inside the message, large ones in memory-mapped files.
- ``folders``: Folders: temporary ones, and those of the user for state, cache, and what processes share.
- ``sandbox``: Sandbox of the compiler's worker: it writes in folders of its own, starts no processes, opens
  no sockets.
- ``c_compiler``: The system's C compiler, run by the client: the worker is not allowed to start processes.
- ``reproducer``: Files that repeat a failure: the requests as they were sent, and how to send them again.
- ``timing_conditions``: Signs of timings on this machine: a file per process that is timing, and a look at
  those of others.
- ``serving``: A process that reads requests, answers them, one at a time, and survives what can be survived.
- ``process_groups``: Processes that end together: a worker with its client, and what a worker has forked with
  the worker.
- ``kernel_requests``: Requests about kernels, their timing, and the variants of a sweep, each with the type
  of its answer.
- ``plain_code_stage``: A cheap stage for variants of a sweep: code that LLVM's optimizer has not seen is timed
  first.
- ``torch_decompositions``: Operations of PyTorch that are written with others before they are converted.
"""
