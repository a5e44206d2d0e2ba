import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import type { Launch } from '../../../../src/node/pods/container-launch.ts'
import { besideWords, shimEnvironment } from '../../../../src/node/pods/shim-environment.ts'

const launch: Launch = {
  image: '',
  command: ['serve'],
  env: [
    ['PATH', '/app/bin'],
    ['QUOTE', 'a "b"\n$c = d'],
    ['EMPTY', ''],
  ],
  workingDir: '/app',
  user: { uid: 1000, gid: 2000 },
  limits: {},
  rootFilesystem: undefined,
}

function besideOf(changed: Partial<Launch>, command: readonly string[], hasEnv = true): string[] {
  return besideWords(new Map(Object.entries(shimEnvironment({ ...launch, ...changed }))), command, hasEnv)
}

describe('a program beside that of a container', () => {
  test('has its user and its variables, as its shim was told them', () => {
    const env = ['PATH=/app/bin', 'QUOTE=a "b"\n$c = d', 'EMPTY=']
    const words = ['--setuid=1000', '--setgid=2000', '--', 'env', '-i', ...env, 'check', '-a=b']
    assert.deepEqual(besideOf({}, ['check', '-a=b']), words)
  })

  test('runs as whoever runs the agent where the container does', () => {
    assert.deepEqual(besideOf({ user: undefined, env: [] }, ['check']), ['--', 'env', '-i', 'check'])
    assert.deepEqual(besideOf({ user: { uid: 0, gid: 0 }, env: [] }, ['x']).slice(0, 2), ['--setuid=0', '--setgid=0'])
  })

  test('goes without the variables where there is no env(1) to set them', () => {
    assert.deepEqual(besideOf({}, ['check'], false), ['--setuid=1000', '--setgid=2000', '--', 'check'])
  })

  test('is none where its name would be read as a variable', () => {
    assert.throws(() => besideOf({}, ['A=b']), { message: 'the command "A=b" must not hold "="' })
  })
})
