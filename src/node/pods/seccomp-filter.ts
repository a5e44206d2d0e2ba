import { lastKnownCall, type SystemCalls } from './system-calls.ts'

// From linux/seccomp.h, linux/bpf_common.h and asm-generic/errno.h.
const allow = 0x7fff_0000
const refuseWith = (errno: number): number => 0x5_0000 | errno
const [notPermitted, unknownCall] = [refuseWith(1), refuseWith(38)]
const [load, jumpEqual, jumpAtLeast, jumpAnyBit, give] = [0x20, 0x15, 0x35, 0x45, 0x06]
/** Where the number, the architecture and the low half of the first argument stand in `struct seccomp_data`. */
const [numberAt, architectureAt, firstArgumentAt] = [0, 4, 16]

const clone3 = 435
/** Every CLONE_NEW… flag that clone(2) takes. */
const newNamespaces = 0x7e02_0000
const vsock = 40
/** Plain Linux, 32-bit addresses or an old kernel's version; the last one only asks. */
const personalities = [0, 8, 0x2_0000, 0x2_0008, 0xffff_ffff]

/** One instruction: code, jumps where it holds and where it does not, and its constant. */
type Instruction = readonly [code: number, ifTrue: number, ifFalse: number, constant: number]

/**
 * The seccomp filter (classic BPF, seccomp(2)) of a container: `RuntimeDefault`, at most what containerd allows. Calls that are refused fail
 * with EPERM, calls that it does not know and clone3, whose flags no filter sees, with ENOSYS, so that programs take the older way. Pure.
 */
export function seccompFilter(calls: SystemCalls): Buffer {
  const program: Instruction[] = [
    [load, 0, 0, architectureAt],
    [jumpEqual, 1, 0, calls.auditArchitecture],
    [give, 0, 0, notPermitted],
    [load, 0, 0, numberAt],
    ...whenAtLeast(lastKnownCall + 1, unknownCall),
    ...calls.refused.toSorted((a, b) => a - b).flatMap((number) => whenEqual(number, notPermitted)),
    ...whenEqual(clone3, unknownCall),
    ...withFirstArgument(calls.clone, [
      [jumpAnyBit, 0, 1, newNamespaces],
      [give, 0, 0, notPermitted],
      [give, 0, 0, allow],
    ]),
    ...withFirstArgument(calls.socket, [...whenEqual(vsock, notPermitted), [give, 0, 0, allow]]),
    ...withFirstArgument(calls.personality, [
      ...personalities.flatMap((persona) => whenEqual(persona, allow)),
      [give, 0, 0, notPermitted],
    ]),
    [give, 0, 0, allow],
  ]
  return Buffer.concat(program.map(encode))
}

function whenEqual(value: number, answer: number): Instruction[] {
  return [
    [jumpEqual, 0, 1, value],
    [give, 0, 0, answer],
  ]
}

function whenAtLeast(value: number, answer: number): Instruction[] {
  return [
    [jumpAtLeast, 0, 1, value],
    [give, 0, 0, answer],
  ]
}

/** For that call alone; what follows must give an answer. */
function withFirstArgument(call: number, judge: readonly Instruction[]): Instruction[] {
  return [[jumpEqual, 0, judge.length + 1, call], [load, 0, 0, firstArgumentAt], ...judge]
}

function encode([code, ifTrue, ifFalse, constant]: Instruction): Buffer {
  const bytes = Buffer.alloc(8)
  bytes.writeUInt16LE(code, 0)
  bytes.writeUInt8(ifTrue, 2)
  bytes.writeUInt8(ifFalse, 3)
  bytes.writeUInt32LE(constant >>> 0, 4)
  return bytes
}
