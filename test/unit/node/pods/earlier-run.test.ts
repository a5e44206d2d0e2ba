import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { argumentsInside } from '../../../../src/node/pods/earlier-run.ts'

const env = ['PATH=/app/bin', 'QUOTE=a "b"\n$c = d', 'EMPTY=']
const shim = new Map([
  ['PLATNET_USER', '1000:2000'],
  ['PLATNET_ENV_COUNT', String(env.length)],
  ...env.map((variable, index) => [`PLATNET_ENV_${index}`, variable] as const),
])

describe('a program in a container that an earlier version started', () => {
  test('has the user and the variables in the environment of the shim', () => {
    const words = ['--setuid=1000', '--setgid=2000', '--', 'env', '-i', ...env, 'check', '-a=b']
    assert.deepEqual(argumentsInside(shim, ['check', '-a=b'], true), words)
  })

  test('runs as the user of the agent if the container does', () => {
    assert.deepEqual(argumentsInside(new Map([['PLATNET_USER', '']]), ['check'], true), ['--', 'env', '-i', 'check'])
  })

  test('has no variables if the root filesystem has no env(1)', () => {
    assert.deepEqual(argumentsInside(shim, ['check'], false), ['--setuid=1000', '--setgid=2000', '--', 'check'])
  })

  test('is refused if env(1) would read its name as a variable', () => {
    assert.throws(() => argumentsInside(shim, ['A=b'], true), { message: 'the command "A=b" must not hold "="' })
  })
})
