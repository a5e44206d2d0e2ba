import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

test('the tables of options and metrics in docs/ match the declarations', () => {
  const script = fileURLToPath(new URL('../../scripts/docs.ts', import.meta.url))
  const { status, stdout, stderr } = spawnSync(process.execPath, [script, '--check'], { encoding: 'utf8' })
  assert.equal(status, 0, `${stdout}${stderr}`)
})
