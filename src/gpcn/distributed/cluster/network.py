"""The network that gloo uses: the one by which Ray reaches a machine.

Left to itself gloo listens at the address that the machine's own name stands for, which is often 127.0.1.1: the workers
of another machine then wait in vain.
"""

from __future__ import annotations

import os
import socket
import struct

VARIABLE = "GLOO_SOCKET_IFNAME"
SIOCGIFADDR = 0x8915  # Linux: the IPv4 address of an interface


def use_network_of_ray() -> str | None:
    """Have gloo use, in a worker before it meets the others, the interface that has Ray's address of this machine."""
    import ray

    if VARIABLE not in os.environ:
        interface = interface_of(str(ray.util.get_node_ip_address()))  # type: ignore[no-untyped-call]
        if interface is not None:
            os.environ[VARIABLE] = interface
    return os.environ.get(VARIABLE)


def interface_of(address: str) -> str | None:
    """Return the interface of this machine with an IPv4 address; `None` where none is known."""
    try:
        import fcntl
    except ImportError:  # Windows
        return None
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        for _, name in socket.if_nameindex():
            request = struct.pack("256s", name.encode()[:15])
            try:
                answer = fcntl.ioctl(probe.fileno(), SIOCGIFADDR, request)
            except OSError:  # an interface without such an address
                continue
            if socket.inet_ntoa(answer[20:24]) == address:
                return name
    return None
