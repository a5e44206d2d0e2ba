import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { loadOptions } from '../../../../src/config/index.ts'
import { podsOptions } from '../../../../src/node/pods/options.ts'

function load(flags: Record<string, string | boolean>) {
  return loadOptions({ pods: podsOptions }, { command: 'agent', flags }).values.pods
}

describe('the folders of the host that pods see', () => {
  test('are none by default, and no pod runs by default', () => {
    const { runPods, podHostFolders, podRootFilesystems } = load({})
    assert.deepEqual([runPods, podHostFolders, podRootFilesystems], [false, undefined, undefined])
  })

  test('can be folders without usual places of secrets', () => {
    assert.deepEqual(load({ podHostFolders: '/opt/app,/root/project' }).podHostFolders, ['/opt/app', '/root/project'])
    assert.equal(load({ podRootFilesystems: '/srv/roots' }).podRootFilesystems, '/srv/roots')
  })

  for (const folder of [
    '/',
    '/etc',
    '/root',
    '/run',
    '/var',
    '/var/lib',
    '/proc',
    'srv',
    '/srv/../etc',
    '/srv/./a',
    '/srv/',
    '//etc',
  ])
    test(`cannot be ${folder}`, () => {
      assert.throws(() => load({ podHostFolders: `/opt/app,${folder}` }), /expected absolute folders/)
      assert.throws(() => load({ podRootFilesystems: folder }), /expected absolute folders/)
    })
})
