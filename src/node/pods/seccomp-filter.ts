import { lastKnownCall, type SystemCalls } from './system-calls.ts'

// From linux/seccomp.h, linux/bpf_common.h and asm-generic/errno.h.
const allow = 0x7fff_0000
const refuseWith = (errno: number): number => 0x5_0000 | errno
const [notPermitted, unknownCall] = [refuseWith(1), refuseWith(38)]
const [load, jumpEqual, jumpAtLeast, jumpAnyBit, ret] = [0x20, 0x15, 0x35, 0x45, 0x06]
/** Offsets in `struct seccomp_data`; of the first argument its low half. */
const [numberOffset, architectureOffset, firstArgumentOffset] = [0, 4, 16]

const clone3 = 435
/** All CLONE_NEW… flags of clone(2). */
const newNamespaces = 0x7e02_0000
const vsock = 40
/** PER_LINUX and PER_LINUX32, each with and without UNAME26; the last value only reads the persona. */
const personalities = [0, 8, 0x2_0000, 0x2_0008, 0xffff_ffff]

/** One instruction: its code, the jump if it is true, the jump if it is false, and its constant. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, constant: number]

/**
 * Builds the seccomp filter (classic BPF, seccomp(2)) of a container: `RuntimeDefault`, at most what containerd allows. Refused calls fail with
 * EPERM. Unknown calls and clone3, whose flags a filter cannot read, fail with ENOSYS, so that programs use older calls. Pure.
 */
export function seccompFilter(calls: SystemCalls): Buffer {
  const program: Instruction[] = [
    [load, 0, 0, architectureOffset],
    [jumpEqual, 1, 0, calls.auditArchitecture],
    [ret, 0, 0, notPermitted],
    [load, 0, 0, numberOffset],
    ...whenAtLeast(lastKnownCall + 1, unknownCall),
    ...calls.refused.toSorted((a, b) => a - b).flatMap((number) => whenEqual(number, notPermitted)),
    ...whenEqual(clone3, unknownCall),
    ...withFirstArgument(calls.clone, [
      [jumpAnyBit, 0, 1, newNamespaces],
      [ret, 0, 0, notPermitted],
      [ret, 0, 0, allow],
    ]),
    ...withFirstArgument(calls.socket, [...whenEqual(vsock, notPermitted), [ret, 0, 0, allow]]),
    ...withFirstArgument(calls.personality, [
      ...personalities.flatMap((persona) => whenEqual(persona, allow)),
      [ret, 0, 0, notPermitted],
    ]),
    [ret, 0, 0, allow],
  ]
  return Buffer.concat(program.map(encode))
}

function whenEqual(value: number, answer: number): Instruction[] {
  return [
    [jumpEqual, 0, 1, value],
    [ret, 0, 0, answer],
  ]
}

function whenAtLeast(value: number, answer: number): Instruction[] {
  return [
    [jumpAtLeast, 0, 1, value],
    [ret, 0, 0, answer],
  ]
}

/** Applies `judge` to the first argument of one call; `judge` must end with an answer. */
function withFirstArgument(call: number, judge: readonly Instruction[]): Instruction[] {
  return [[jumpEqual, 0, judge.length + 1, call], [load, 0, 0, firstArgumentOffset], ...judge]
}

function encode([code, ifTrue, ifFalse, constant]: Instruction): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(ifTrue, 2)
  bytes.writeUInt8(ifFalse, 3)
  bytes.writeUInt32LE(constant >>> 0, 4)
  return bytes
}
