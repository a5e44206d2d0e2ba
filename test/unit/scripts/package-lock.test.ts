import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { test } from 'node:test'
import { z } from 'zod'

const lockSchema = z.object({
  packages: z.record(
    z.string(),
    z.object({
      resolved: z.string().optional(),
      optionalDependencies: z.record(z.string(), z.string()).optional(),
    }),
  ),
})

const file = resolve(import.meta.dirname, '../../../package-lock.json')
const { packages } = lockSchema.parse(JSON.parse(readFileSync(file, 'utf8')))

test('the lock names the packages of every platform, for npm ci refuses one that does not', () => {
  for (const [path, { optionalDependencies = {} }] of Object.entries(packages)) {
    for (const name of Object.keys(optionalDependencies)) {
      assert.ok(`node_modules/${name}` in packages || `${path}/node_modules/${name}` in packages, `${name} of ${path}`)
    }
  }
})

test('the lock names no registry', () => {
  assert.deepEqual(
    Object.values(packages).flatMap(({ resolved }) => resolved ?? []),
    [],
  )
})
