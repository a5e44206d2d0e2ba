import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { besideWords } from '../../../../src/node/pods/earlier-run.ts'

const env = ['PATH=/app/bin', 'QUOTE=a "b"\n$c = d', 'EMPTY=']
const shim = new Map([
  ['PLATNET_USER', '1000:2000'],
  ['PLATNET_ENV_COUNT', String(env.length)],
  ...env.map((variable, index) => [`PLATNET_ENV_${index}`, variable] as const),
])

describe('a program beside that of a container which an earlier version started', () => {
  test('has its user and its variables, as its shim was told them', () => {
    const words = ['--setuid=1000', '--setgid=2000', '--', 'env', '-i', ...env, 'check', '-a=b']
    assert.deepEqual(besideWords(shim, ['check', '-a=b'], true), words)
  })

  test('runs as the user of the agent where the container does', () => {
    assert.deepEqual(besideWords(new Map([['PLATNET_USER', '']]), ['check'], true), ['--', 'env', '-i', 'check'])
  })

  test('goes without the variables where there is no env(1) to set them', () => {
    assert.deepEqual(besideWords(shim, ['check'], false), ['--setuid=1000', '--setgid=2000', '--', 'check'])
  })

  test('is none where its name would be read as a variable', () => {
    assert.throws(() => besideWords(shim, ['A=b'], true), { message: 'the command "A=b" must not hold "="' })
  })
})
