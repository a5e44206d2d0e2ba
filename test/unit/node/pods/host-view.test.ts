import assert from 'node:assert/strict'
import { mkdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { describe, type TestContext, test } from 'node:test'
import { planHostView } from '../../../../src/node/pods/host-view.ts'
import { makeTemporaryFolder } from '../../../helpers/temporary-folder.ts'

/** Creates a folder `srv` with a data folder in it, and a link to each beside it. */
function makeFolders(context: TestContext) {
  const folder = makeTemporaryFolder(context)
  const [srv, data] = [join(folder, 'srv'), join(folder, 'srv/data')]
  mkdirSync(join(data, 'pods'), { recursive: true })
  writeFileSync(join(data, 'ca.key'), '')
  symlinkSync(srv, join(folder, 'srv-link'))
  symlinkSync(data, join(folder, 'data-link'))
  const hiddenOf = (shown: string, hidden: string) =>
    planHostView({ shown: [join(folder, shown)], hidden: [join(folder, hidden)] })
      .hidden.filter((path) => path.startsWith(folder))
      .map((path) => path.slice(folder.length + 1))
  return { hiddenOf }
}

describe('the view of a container', () => {
  for (const [shown, hidden, wanted] of [
    ['srv', 'srv/data', ['srv/data']],
    ['srv', 'srv/data/ca.key', ['srv/data/ca.key']],
    ['srv', 'data-link', ['srv/data']],
    ['srv-link', 'srv/data', ['srv-link/data']],
    ['data-link', 'srv/data', ['data-link']],
    ['srv/data/pods', 'srv/data', ['srv/data/pods']],
    ['srv/data', 'srv', ['srv/data']],
    ['srv', 'nothing', []],
    ['nothing', 'srv', []],
  ] as const)
    test(`does not show the secret ${hidden} through ${shown}`, (context) => {
      assert.deepEqual(makeFolders(context).hiddenOf(shown, hidden), wanted)
    })

  test('contains no usual place of secrets and no home folder', () => {
    const { shown, folders, links } = planHostView({ shown: [], hidden: [] })
    const secret = [
      '/etc',
      '/etc/shadow',
      '/etc/gshadow',
      '/etc/ssh',
      '/etc/ssl',
      '/etc/ssl/private',
      '/root',
      '/var',
      '/run',
      '/home',
      '/proc',
      '/dev',
    ]
    assert.deepEqual(
      shown.filter((path) => secret.includes(path)),
      [],
    )
    assert.ok(shown.includes('/usr'))
    const paths = [...shown, ...folders.map(([path]) => path), ...links.map(([path]) => path)]
    assert.equal(new Set(paths).size, paths.length, 'nothing stands twice')
  })
})
