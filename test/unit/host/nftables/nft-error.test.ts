import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { checkElementCommands, inOneLine, inShortLines } from '../../../../src/host/nftables/element-commands.ts'
import { explainFailure, judgeFailure, NftError } from '../../../../src/host/nftables/nft-error.ts'
import { ExecError } from '../../../../src/host/programs/index.ts'

const failed = (stderr: string) =>
  new ExecError('failed', 'nft exited with 1', { command: 'nft -f -', exitCode: 1, stderr })

describe('what a failed nft prints', () => {
  const rows = [
    ['internal:0:0-0: Error: Could not process rule: File exists\nadd element …', 'refused'],
    ['Error: syntax error, unexpected end of file\nadd\n^\n', 'refused'],
    ['Error: Could not process rule: Device or resource busy\n', 'busy'],
    ['netlink: Error: cache initialization failed: Interrupted system call\n', 'busy'],
    ['netlink: Error: cache initialization failed: Operation not permitted\n', 'unavailable'],
    ['Unable to initialize Netlink socket: Protocol not supported\n', 'unavailable'],
    ['netlink: Error: Could not process rule: No buffer space available\n', 'uncertain'],
    ['', 'uncertain'],
    ['a text of another version', 'uncertain'],
  ] as const
  for (const [output, kind] of rows)
    test(`${JSON.stringify(output.slice(0, 60))} means ${kind}`, () => assert.equal(judgeFailure(output), kind))

  test('names the command and the element of its line', () => {
    const text = inShortLines('add element ip t a { 1, 2 }\ndelete element ip t b { 3 : 4, 5 }\n')
    const error = explainFailure(
      failed('/dev/stdin:4:1-1: Error: Could not process rule: No such file\n5 }\n^\n'),
      text,
    )
    const { code, reason, command, element, lineNumber } = error
    assert.deepEqual(
      { code, reason, command, element, lineNumber },
      {
        code: 'refused',
        reason: 'Could not process rule: No such file',
        command: 'delete element ip t b',
        element: '5',
        lineNumber: 4,
      },
    )
    assert.match(error.message, /^nft refused a transaction: delete element ip t b: 5: Could not process rule/)
  })

  test('names the line of a rule', () => {
    const error = explainFailure(failed('/dev/stdin:2:5-6: Error: syntax error\n'), 'table ip t {\n\tno rule\n}\n')
    assert.deepEqual([error.command, error.element, error.lineNumber], [undefined, 'no rule', 2])
  })

  test('a program that was killed or took too long may have done its work; one that is missing has not', () => {
    const end = { command: 'nft', exitCode: undefined, stderr: '' }
    for (const code of ['killed', 'timeout'] as const)
      assert.equal(explainFailure(new ExecError(code, 'nft ended', end), '').code, 'uncertain')
    assert.equal(explainFailure(new ExecError('not-found', 'nft was not found', end), '').code, 'unavailable')
  })
})

describe('commands of elements', () => {
  for (const text of [
    '',
    'add element ip platnet addresses { 10.0.0.1 . tcp . 80 : 1:2 }\n',
    'delete element ip6 platnet admitted { fd00::1 . tcp . 80 . fd00::/8, fd00::2 . tcp . 80 . :: }\nflush map ip platnet slots\n',
    'add element ip platnet state { 1 comment "version ab objects cd elements ef" }\n',
  ])
    test(`${JSON.stringify(text.slice(0, 40))} is run`, () => checkElementCommands(text))

  for (const text of [
    'add rule ip platnet service accept\n',
    'flush ruleset\n',
    'flush table ip platnet\n',
    'include "/etc/passwd"\n',
    'add element ip platnet health { 1 }; flush ruleset\n',
    'add element ip platnet health { 1 }\rflush ruleset\n',
    'add element ip platnet health { 1\0 }\n',
    'add element ip platnet health { 1 } }\n',
    'add element ip platnet health {\n1 }\n',
    'list ruleset',
  ])
    test(`${JSON.stringify(text.slice(0, 40))} is not run`, () =>
      assert.throws(
        () => checkElementCommands(text),
        (thrown) => thrown instanceof NftError && thrown.code === 'invalid',
      ))

  test('have a line for each element, and rules between them stay as they are', () => {
    const rule = 'add rule ip platnet extra ct state vmap { new : drop, invalid : drop }\n'
    assert.equal(inShortLines(`${rule}add element a { 1, 2 }\n`), `${rule}add element a { 1,\n2 }\n`)
  })

  test('become one line for a program that runs line by line', () =>
    assert.equal(inOneLine('add element a\nadd element b\n'), 'add element a; add element b'))
})
