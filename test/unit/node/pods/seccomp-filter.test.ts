import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { seccompFilter } from '../../../../src/node/pods/seccomp-filter.ts'
import { type SystemCalls, systemCallsOf } from '../../../../src/node/pods/system-calls.ts'

const [allow, notPermitted, unknownCall] = [0x7fff_0000, 0x5_0001, 0x5_0026]

/** Runs the filter like seccomp(2): an interpreter of classic BPF. */
function judge(calls: SystemCalls, number: number, argument = 0, architecture = calls.auditArchitecture): number {
  const program = seccompFilter(calls)
  const data: Readonly<Record<number, number>> = { 0: number, 4: architecture, 16: argument }
  let accumulator = 0
  for (let at = 0; ; at += 1) {
    const [code, ifTrue, ifFalse] = [program.readUInt16LE(at * 8), program[at * 8 + 2] ?? 0, program[at * 8 + 3] ?? 0]
    const constant = program.readUInt32LE(at * 8 + 4)
    if (code === 0x06) return constant
    if (code === 0x20) accumulator = data[constant] ?? 0
    else {
      const holds = { 21: accumulator === constant, 53: accumulator >= constant, 69: (accumulator & constant) !== 0 }[
        code
      ]
      assert.notEqual(holds, undefined, `unknown code ${code}`)
      at += holds ? ifTrue : ifFalse
    }
  }
}

for (const architecture of ['x64', 'arm64']) {
  describe(`the filter of system calls on ${architecture}`, () => {
    const calls = systemCallsOf(architecture)
    assert.ok(calls)

    test('refuses each call that changes or shows the machine, and no other known call', () => {
      const refused = Array.from({ length: 457 }, (_, number) => number).filter(
        (number) => judge(calls, number) !== allow,
      )
      assert.deepEqual(
        refused,
        [...calls.refused, 435].toSorted((a, b) => a - b),
      )
      for (const number of calls.refused) assert.equal(judge(calls, number), notPermitted)
    })

    test('answers ENOSYS to newer calls, to other encodings of a number, and to clone3', () => {
      for (const number of [435, 457, 1000, 0x4000_0001, 0xffff_ffff]) assert.equal(judge(calls, number), unknownCall)
    })

    test('refuses every call of another architecture', () => {
      assert.equal(judge(calls, 1, 0, 0x4000_0003), notPermitted)
    })

    test('allows threads and processes, and no namespaces', () => {
      assert.equal(judge(calls, calls.clone, 0x3d_0f00), allow)
      for (const flag of [0x2_0000, 0x200_0000, 0x400_0000, 0x800_0000, 0x1000_0000, 0x2000_0000, 0x4000_0000])
        assert.equal(judge(calls, calls.clone, flag | 17), notPermitted)
    })

    test('allows sockets except vsock, and only the usual personalities', () => {
      assert.deepEqual(
        [1, 2, 10, 16].map((family) => judge(calls, calls.socket, family)),
        [allow, allow, allow, allow],
      )
      assert.equal(judge(calls, calls.socket, 40), notPermitted)
      assert.deepEqual(
        [0, 8, 0xffff_ffff].map((each) => judge(calls, calls.personality, each)),
        [allow, allow, allow],
      )
      assert.equal(judge(calls, calls.personality, 0x40000), notPermitted)
    })
  })
}
