"""The process that other programs are timed in, so that they load neither here nor beside the compiler."""
