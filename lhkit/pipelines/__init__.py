"""Pass pipelines, pass by pass: run in the worker, or read from the logs of other compilers."""
