import assert from 'node:assert/strict'
import { afterEach, beforeEach, describe, mock, test } from 'node:test'
import { Deadlines, type TimedJob } from '../../../src/loop/deadlines.ts'

describe('the deadlines of jobs', () => {
  let nowMs = 0
  let late: string[] = []

  beforeEach(() => {
    nowMs = 0
    late = []
    mock.timers.enable({ apis: ['setTimeout'] })
    mock.method(performance, 'now', () => nowMs)
  })

  afterEach(() => mock.reset())

  function job(name: string): TimedJob {
    return { deadlineMs: 0, onLate: () => void late.push(`${name} at ${nowMs}`) }
  }

  function pass(ms: number): void {
    for (let step = 0; step < ms; step += 10) {
      nowMs += 10
      mock.timers.tick(10)
    }
  }

  test('a job is late after its own duration, and only once', () => {
    const deadlines = new Deadlines()
    deadlines.add(job('slow'), 200)
    deadlines.add(job('quick'), 50)
    pass(100)
    deadlines.add(job('another quick'), 50)
    pass(300)
    assert.deepEqual(late, ['quick at 50', 'another quick at 150', 'slow at 200'])
  })

  test('a job that was removed is never late, and those behind it are not late sooner', () => {
    const deadlines = new Deadlines()
    const [first, second] = [job('first'), job('second')]
    deadlines.add(first, 50)
    pass(30)
    deadlines.add(second, 50)
    deadlines.remove(first, 50)
    pass(200)
    assert.deepEqual(late, ['second at 80'])
  })

  test('a job that a late job adds has its full time', () => {
    const deadlines = new Deadlines()
    deadlines.add({ deadlineMs: 0, onLate: () => deadlines.add(job('next'), 50) }, 50)
    pass(200)
    assert.deepEqual(late, ['next at 100'])
  })

  test('late jobs that add others start no timers of their own: there is one at a time', () => {
    const startTimer = mock.method(globalThis, 'setTimeout')
    const deadlines = new Deadlines()
    const again = (count: number): TimedJob => ({
      deadlineMs: 0,
      onLate: () => {
        late.push(`${count} at ${nowMs}`)
        if (count < 10) deadlines.add(again(count + 1), 50)
      },
    })
    for (let index = 0; index < 5; index += 1) {
      deadlines.add(again(1), 50)
      pass(10)
    }
    pass(1_000)
    const timers = startTimer.mock.callCount()
    startTimer.mock.restore()
    assert.equal(late.length, 50)
    assert.equal(late.at(-1), '10 at 540')
    assert.ok(timers <= 50, `${timers} timers for 50 jobs`)
  })
})
