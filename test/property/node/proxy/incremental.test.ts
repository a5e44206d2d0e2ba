import { test } from 'node:test'
import { FakeIptables } from '../../../helpers/fake-iptables.ts'
import { checkIncremental, type TestedKernel } from '../../../helpers/incremental-events.ts'

function kernelInMemory(): TestedKernel {
  const kernel = new FakeIptables()
  return { faults: kernel.faults, iptables: () => kernel.iptables(), contents: async () => kernel.contents() }
}

// With the programs and a real kernel: test/long/proxy/incremental.test.ts.
test('after any events and failures the kernel holds what a fresh node would write at once', () =>
  checkIncremental({ numRuns: 40, kernels: async () => [kernelInMemory(), kernelInMemory()] }))
