import assert from 'node:assert/strict'
import { test } from 'node:test'
import { authorsOf } from '../../../../src/node/rules/authors.ts'

test('each program is named once, and at most three', () => {
  const names = ['nft', 'nft', 'ufw', 'dockerd', 'a', 'b']
  assert.equal(
    authorsOf(names.map((program) => ({ program, pid: 7 }))),
    'nft (pid 7), ufw (pid 7), dockerd (pid 7) and 2 more',
  )
})

test('a program whose pid is not known has its name alone, and commits without a name have no author', () => {
  assert.equal(authorsOf([{ program: 'nft' }, {}]), 'nft')
  assert.equal(authorsOf([{ pid: 7 }]), undefined)
})
