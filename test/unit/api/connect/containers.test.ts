import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { chooseContainer } from '../../../../src/api/connect/containers.ts'

function pod(containers: readonly string[], init: readonly string[] = [], ephemeral: readonly string[] = []) {
  const named = (names: readonly string[]) => names.map((name) => ({ name }))
  const spec = {
    containers: named(containers),
    initContainers: named(init),
    ephemeralContainers: named(ephemeral),
  }
  return { kind: 'Pod', apiVersion: 'v1', metadata: { name: 'web' }, spec }
}

describe('the container of a request', () => {
  test('is the only one where none is named, whatever init containers there are', () => {
    assert.equal(chooseContainer(pod(['c'], ['setup']), ''), 'c')
  })

  test('is the named one, also an init or ephemeral container', () => {
    const all = pod(['c', 'd'], ['setup'], ['debugger'])
    for (const name of ['d', 'setup', 'debugger']) assert.equal(chooseContainer(all, name), name)
  })

  test('has to be named where there are several: the error lists all, in the words of kube-apiserver', () => {
    const message = 'a container name must be specified for pod web, choose one of: [setup c d debugger]'
    assert.throws(() => chooseContainer(pod(['c', 'd'], ['setup'], ['debugger']), ''), { code: 'BadRequest', message })
    assert.throws(() => chooseContainer(pod([]), ''), { message: 'a container name must be specified for pod web' })
  })

  test('must be one of the pod', () => {
    assert.throws(() => chooseContainer(pod(['c']), 'other'), { message: 'container other is not valid for pod web' })
  })
})
