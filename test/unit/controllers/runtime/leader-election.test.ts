import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  type ElectionOptions,
  LeaderElection,
  timingOfLease,
} from '../../../../src/controllers/runtime/leader-election.ts'
import type { HeldLease, LeaseLock, LeaseSpec } from '../../../../src/controllers/runtime/lease-lock.ts'
import { silentLogger } from '../../../../src/observe/index.ts'
import { until } from '../../../helpers/until.ts'

const forever = { signal: new AbortController().signal }
const quick = { leaseMs: 150, renewDeadlineMs: 100, renewMs: 40, retryMs: 20, settleMs: 10 }

/** One lease with compare-and-swap, as the API keeps it; `away` makes every request fail. */
class MemoryLock implements LeaseLock {
  held: HeldLease | undefined
  away = false

  async read(): Promise<HeldLease | undefined> {
    this.#assertThere()
    return this.held
  }

  async create(spec: LeaseSpec): Promise<HeldLease> {
    this.#assertThere()
    assert.equal(this.held, undefined, 'the lease exists')
    return this.#store(spec)
  }

  async replace(held: HeldLease, spec: LeaseSpec): Promise<HeldLease> {
    this.#assertThere()
    assert.equal(held.resourceVersion, this.held?.resourceVersion, 'conflict')
    return this.#store(spec)
  }

  #assertThere(): void {
    if (this.away) throw new Error('the API is away')
  }

  #store(spec: LeaseSpec): HeldLease {
    this.held = { resourceVersion: String(Number(this.held?.resourceVersion ?? 0) + 1), spec }
    return this.held
  }
}

function createCandidate(
  lock: LeaseLock,
  identity: string,
  notes: string[] = [],
  options: Partial<Pick<ElectionOptions, 'isGone' | 'timing'>> = {},
): LeaderElection {
  return new LeaderElection({
    lock,
    identity,
    onStarted: () => notes.push(`${identity} starts`),
    onStopped: () => notes.push(`${identity} stops`),
    log: silentLogger,
    timing: quick,
    ...options,
  })
}

describe('leader election', () => {
  test('one of two leads; when it gives the lease back the other takes over without waiting for it to run out', async () => {
    const lock = new MemoryLock()
    const notes: string[] = []
    // Longer than a busy machine stops a process for.
    const timing = { ...quick, leaseMs: 600, renewDeadlineMs: 400 }
    const [one, two] = [
      createCandidate(lock, 'one', notes, { timing }),
      createCandidate(lock, 'two', notes, { timing }),
    ]
    await one.start()
    await until('one leads', () => one.isLeader)
    await two.start()
    await sleep(timing.leaseMs + 200)
    assert.equal(two.isLeader, false)
    await one.stop(forever)
    assert.equal(lock.held?.spec.holderIdentity, '')
    await until('two leads', () => two.isLeader, timing.leaseMs)
    assert.deepEqual(notes, ['one starts', 'one stops', 'two starts'])
    assert.equal(lock.held?.spec.leaseTransitions, 1)
    await two.stop(forever)
  })

  test('a lease that is not renewed is taken after its time, counted by our own clock', async () => {
    const lock = new MemoryLock()
    const ancient = '2001-01-01T00:00:00.000000Z'
    await lock.create({
      holderIdentity: 'dead',
      leaseDurationSeconds: 1,
      acquireTime: ancient,
      renewTime: ancient,
      leaseTransitions: 4,
    })
    const candidate = createCandidate(lock, 'alive')
    const startedMs = performance.now()
    await candidate.start()
    await until('it leads', () => candidate.isLeader)
    assert.ok(performance.now() - startedMs >= quick.leaseMs - 1, 'the old renewTime alone says nothing')
    assert.equal(lock.held?.spec.leaseTransitions, 5)
    await candidate.stop(forever)
  })

  test('the lease of a process that is certainly gone is taken at once, that of any other is not', async () => {
    const lock = new MemoryLock()
    const notes: string[] = []
    const gone = new Set(['dead'])
    const spec = { leaseDurationSeconds: 3600, acquireTime: '', renewTime: '', leaseTransitions: 0 }
    const held = await lock.create({ ...spec, holderIdentity: 'elsewhere' })
    const timing = { leaseMs: 3_600_000, renewDeadlineMs: 60_000, renewMs: 30_000, retryMs: 5, settleMs: 20 }
    const candidate = createCandidate(lock, 'next', notes, { timing, isGone: (identity) => gone.has(identity) })
    await candidate.start()
    await sleep(50)
    assert.equal(candidate.isLeader, false)
    await lock.replace(held, { ...spec, holderIdentity: 'dead' })
    await until('it leads', () => candidate.isLeader, 30_000)
    assert.equal(lock.held?.spec.holderIdentity, 'next')
    await candidate.stop(forever)
  })

  test('a renewal waits longer than an attempt that failed', async () => {
    const lock = new MemoryLock()
    const hourMs = 3_600_000
    const timing = { leaseMs: 3 * hourMs, renewDeadlineMs: 2 * hourMs, renewMs: hourMs, retryMs: 5, settleMs: 5 }
    const candidate = createCandidate(lock, 'one', [], { timing })
    lock.away = true
    await candidate.start()
    await sleep(20)
    lock.away = false
    await until('it leads', () => candidate.isLeader)
    await sleep(50)
    assert.equal(lock.held?.resourceVersion, '1')
    await candidate.stop(forever)
  })

  test('a leader that cannot renew stops before its lease runs out for others', async () => {
    const lock = new MemoryLock()
    const notes: string[] = []
    const timing = { ...quick, leaseMs: 2_000 }
    const leader = createCandidate(lock, 'one', notes, { timing })
    await leader.start()
    await until('it leads', () => leader.isLeader)
    const lastRenewal = lock.held?.resourceVersion
    const awayMs = performance.now()
    lock.away = true
    await until('it stops', () => notes.includes('one stops'))
    assert.ok(performance.now() - awayMs < timing.leaseMs)
    assert.equal(lock.held?.resourceVersion, lastRenewal)
    lock.away = false
    await until('it leads again', () => leader.isLeader)
    await leader.stop(forever)
  })

  test('a leader whose lease another took stops at its next look', async () => {
    const lock = new MemoryLock()
    const notes: string[] = []
    const leader = createCandidate(lock, 'one', notes)
    await leader.start()
    await until('it leads', () => leader.isLeader)
    const { held } = lock
    assert.ok(held)
    await lock.replace(held, { ...held.spec, holderIdentity: 'thief' })
    await until('it stops', () => notes.includes('one stops'))
    await leader.stop(forever)
    assert.equal(lock.held?.spec.holderIdentity, 'thief')
  })
})

test('The times of every lease duration are whole milliseconds, which Node asks of a time limit.', async () => {
  for (let leaseMs = 1_000; leaseMs <= 60_000; leaseMs += 1_000) {
    for (const [name, value] of Object.entries(timingOfLease(leaseMs))) {
      assert.ok(Number.isInteger(value) && value > 0, `${name} of ${leaseMs} ms is ${value}`)
    }
    const { renewDeadlineMs, renewMs, retryMs } = timingOfLease(leaseMs)
    assert.ok(retryMs < renewMs && renewMs < renewDeadlineMs && renewDeadlineMs < leaseMs)
  }
})
