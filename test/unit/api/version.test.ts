import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { versionInfo } from '../../../src/api/version.ts'

test('clients hear the version of Kubernetes whose kinds are served', () => {
  const script = readFileSync(join(import.meta.dirname, '../../../scripts/generate-kinds.ts'), 'utf8')
  const [, minor, patch] = /^const version = 'v0\.(\d+)\.(\d+)'$/m.exec(script) ?? []
  assert.equal(versionInfo.minor, minor)
  assert.equal(versionInfo.gitVersion, `v1.${minor}.${patch}+platnet`)
})
