import { type Ip, ipFamily, ipToBigInt } from '../../model/ip.ts'

type Ffi = typeof import('node:ffi')

/** Functions of this process' C library that sockets need. A result of `read` and `write` fits in 32 bits, as do their lengths. */
export type SocketCalls = ReturnType<typeof findSocketCalls>

export function findSocketCalls(ffi: Ffi) {
  return ffi.dlopen(null, {
    socket: { return: 'i32', arguments: ['i32', 'i32', 'i32'] },
    setsockopt: { return: 'i32', arguments: ['i32', 'i32', 'i32', 'pointer', 'u32'] },
    bind: { return: 'i32', arguments: ['i32', 'pointer', 'u32'] },
    connect: { return: 'i32', arguments: ['i32', 'pointer', 'u32'] },
    close: { return: 'i32', arguments: ['i32'] },
    // Node calls functions of up to three arguments without lists of them, in half the time of `send` and `recv`.
    write: { return: 'i32', arguments: ['i32', 'pointer', 'u64'] },
    read: { return: 'i32', arguments: ['i32', 'pointer', 'u64'] },
    recvmmsg: { return: 'i32', arguments: ['i32', 'pointer', 'u32', 'i32', 'pointer'] },
    sendmmsg: { return: 'i32', arguments: ['i32', 'pointer', 'u32', 'i32'] },
    epoll_create1: { return: 'i32', arguments: ['i32'] },
    epoll_ctl: { return: 'i32', arguments: ['i32', 'i32', 'i32', 'pointer'] },
    epoll_wait: { return: 'i32', arguments: ['i32', 'pointer', 'i32', 'i32'] },
  }).functions
}

// These constants and structures hold on Linux for 64-bit little-endian machines: socket.h, in.h, fcntl.h.
export const family = { ipv4: 2, ipv6: 10 } as const
/** SOCK_DGRAM, SOCK_NONBLOCK and SOCK_CLOEXEC. */
export const datagramSocket = 2 | 0o4_000 | 0o2_000_000
/** MSG_DONTWAIT */
export const dontWait = 0x40
/** Level and name: SOL_SOCKET with SO_REUSEADDR, SO_REUSEPORT and SO_ATTACH_REUSEPORT_CBPF, IPPROTO_IPV6 with IPV6_V6ONLY. */
export const socketOption = {
  reuseAddress: [1, 2],
  reusePort: [1, 15],
  steerReusePort: [1, 51],
  v6Only: [41, 26],
} as const
/** Layout of `sockaddr_in` and `sockaddr_in6`: family 2, port 2, then the address, in the larger one after 4 more bytes. */
export const addressLength = { ipv4: 16, ipv6: 28 } as const
/** Size for either structure. */
export const addressBytes = 32

export function familyOf(address: Ip): number {
  return ipFamily(address) === 'IPv6' ? family.ipv6 : family.ipv4
}

export function addressLengthOf(address: Ip): number {
  return ipFamily(address) === 'IPv6' ? addressLength.ipv6 : addressLength.ipv4
}

export function socketAddress(address: Ip, port: number): Buffer {
  const place = Buffer.alloc(addressBytes)
  const isIpv6 = ipFamily(address) === 'IPv6'
  place.writeUInt16LE(familyOf(address), 0)
  place.writeUInt16BE(port, 2)
  const hex = ipToBigInt(address).toString(16)
  place.write(hex.padStart(isIpv6 ? 32 : 8, '0'), isIpv6 ? 8 : 4, 'hex')
  return place
}
