import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { describe, test } from 'node:test'
import { isGone, nameProcess } from '../../../src/host/index.ts'

describe('the name of a process', () => {
  test('differs each time, and tells that the process is gone once it is', async () => {
    assert.notEqual(nameProcess(), nameProcess())
    const child = spawn(process.execPath, ['-e', 'setInterval(() => {}, 1000)'])
    const name = nameProcess(child.pid)
    assert.equal(isGone(name), false)
    child.kill('SIGKILL')
    await once(child, 'exit')
    assert.equal(isGone(name), true)
  })

  test('says nothing of processes of another start, machine or pid namespace, nor of a text that is none', async () => {
    const child = spawn(process.execPath, ['-e', ''])
    await once(child, 'exit')
    const parts = nameProcess(child.pid).split('_')
    const changed = (index: number, part: string) => parts.with(index, part).join('_')
    assert.equal(isGone(parts.join('_')), true)
    assert.equal(isGone(changed(-4, '00000000-0000-4000-8000-000000000000')), false)
    assert.equal(isGone(changed(-3, '1')), false)
    assert.equal(isGone(changed(-2, '-1')), false)
    assert.equal(isGone('host_8d0f6d7e-1e0e-4f0e-9c3b-0d9d5b7c2f11'), false)
    assert.equal(isGone(''), false)
  })
})
