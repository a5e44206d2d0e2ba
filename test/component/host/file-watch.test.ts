import { mkdirSync, renameSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { type TestContext, test } from 'node:test'
import { FileWatch } from '../../../src/host/index.ts'
import { makeTemporaryFolder } from '../../helpers/temporary-folder.ts'
import { until } from '../../helpers/until.ts'

function watchFile(t: TestContext, path: string): { count: number } {
  const seen = { count: 0 }
  const watch = new FileWatch(path, () => {
    seen.count += 1
  })
  watch.start()
  t.after(() => watch.stop())
  return seen
}

test('A file that is written in place, replaced by a rename, removed and made again calls back once each.', async (t) => {
  const folder = makeTemporaryFolder(t)
  const path = join(folder, 'config.yaml')
  writeFileSync(path, 'a')
  const seen = watchFile(t, path)
  const changes = [
    () => writeFileSync(path, 'b'),
    () => {
      writeFileSync(`${path}.new`, 'c')
      renameSync(`${path}.new`, path)
    },
    () => writeFileSync(path, 'd'),
    () => rmSync(path),
    () => writeFileSync(path, 'd'),
  ]
  for (const [index, change] of changes.entries()) {
    change()
    await until(`change ${index}`, () => seen.count === index + 1)
  }
  writeFileSync(join(folder, 'other'), 'x')
  writeFileSync(path, 'd')
  writeFileSync(path, 'e')
  await until('the last change', () => seen.count === changes.length + 1)
})

test('A file of a mounted ConfigMap calls back when the link of its folder is swapped.', async (t) => {
  const folder = makeTemporaryFolder(t)
  const version = (name: string, text: string) => {
    mkdirSync(join(folder, name))
    writeFileSync(join(folder, name, 'config.yaml'), text)
    symlinkSync(name, join(folder, '..data_tmp'))
    renameSync(join(folder, '..data_tmp'), join(folder, '..data'))
  }
  version('..1', 'a')
  symlinkSync('..data/config.yaml', join(folder, 'config.yaml'))
  const seen = watchFile(t, join(folder, 'config.yaml'))
  version('..2', 'b')
  await until('the first swap', () => seen.count === 1)
  version('..3', 'c')
  await until('the second swap', () => seen.count === 2)
})
