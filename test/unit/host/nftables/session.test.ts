import assert from 'node:assert/strict'
import { PassThrough } from 'node:stream'
import { describe, test } from 'node:test'
import { NftError, openNftSession, type Run, type RunningProgram } from '../../../../src/host/index.ts'
import { NftLibrary } from '../../../../src/host/nftables/library.ts'
import { ExecError } from '../../../../src/host/programs/index.ts'

const done = { endedBy: 'exit', exitCode: 0, stdout: '', stderr: '', durationMs: 1, pid: 77 } as const
const element = 'add element ip platnet health { 1 }\n'

/** An `nft -i` that answers each transaction by what `answer` gives, and its marker; undefined ends it. */
function interactive(answer: (line: string) => string | undefined) {
  const started: string[][] = []
  const start = async (file: string, args: readonly string[]): Promise<RunningProgram> => {
    const [stdin, stdout, stderr] = [new PassThrough(), new PassThrough(), new PassThrough()]
    const exited = Promise.withResolvers<{ exitCode: number; signal: undefined }>()
    const end = () => exited.resolve({ exitCode: 0, signal: undefined })
    started.push([file, ...args])
    stdin.on('data', (chunk: Buffer) => {
      const [line = '', marker] = chunk.toString().split('\n')
      const said = answer(line)
      if (said === undefined) end()
      else stderr.write(`${said}Error: syntax error, unexpected string\n${marker}\n^^^\n`)
    })
    return {
      pid: 4_000 + started.length,
      stdin,
      stdout,
      stderr,
      exited: exited.promise,
      kill: end,
      send: async () => {},
      onMessage: () => {},
    }
  }
  return { start, started }
}

const probe = 'Error: No such file or directory\ndelete element\n^\n'
const answering = (answer: string | undefined) => (line: string) => (line.includes('platnet-none') ? probe : answer)

function programs(results: readonly (string | undefined)[] = []) {
  const inputs: string[] = []
  const run: Run = async (_file, _args, { input = '' }) => {
    const stderr = results[inputs.push(input) - 1]
    if (stderr !== undefined)
      throw new ExecError('failed', 'nft exited with 1', { command: 'nft', exitCode: 1, stderr })
    return done
  }
  return { run, inputs }
}

const codeOf = (thrown: unknown) => (thrown instanceof NftError ? thrown.code : thrown)

describe('a session of nft', () => {
  test('writes through the program that stays, and knows its commits by that program', async () => {
    const { start } = interactive(answering(''))
    const { run, inputs } = programs()
    const session = await openNftSession({ run, start, kinds: ['interactive', 'program'] })
    await session.run(element)
    assert.deepEqual([session.kind, inputs], ['interactive', []])
    assert.deepEqual(
      [4_001, 4_002, undefined].map((portId) => session.isOwn(portId === undefined ? {} : { portId })),
      [true, false, false],
    )
    await session.close()
  })

  test('starts the program that stays again after it ended, and the outcome of that transaction is not known', async () => {
    let ends = 1
    const { start, started } = interactive((line) =>
      line.includes('platnet-none') ? probe : ends-- > 0 ? undefined : '',
    )
    const session = await openNftSession({ ...programs(), start, kinds: ['interactive'] })
    assert.equal(await session.run(element).catch(codeOf), 'uncertain')
    await session.run(element)
    assert.equal(started.length, 2)
    await session.close()
  })

  test('a late answer of a program that ended does not count for the next one', async () => {
    const printers: RunningProgram['stderr'][] = []
    const { start } = interactive((line) => {
      if (line.includes('platnet-none')) return probe
      const [first, second] = printers
      if (second !== undefined) first?.emit('data', Buffer.from('Error: late\nplatnet-end-1\n^^^\n'))
      return undefined
    })
    const session = await openNftSession({
      ...programs(),
      start: async (file, args) => {
        const program = await start(file, args)
        printers.push(program.stderr)
        return program
      },
      kinds: ['interactive'],
    })
    assert.equal(await session.run(element).catch(codeOf), 'uncertain')
    assert.equal(await session.run(element).catch(codeOf), 'uncertain')
    assert.equal(printers.length, 2)
    await session.close()
  })

  test('after a refusal a started nft says which element it is about', async () => {
    const { start } = interactive(answering('Error: Could not process rule: File exists\nadd element\n^\n'))
    const { run, inputs } = programs(['/dev/stdin:2:1-1: Error: File exists\n2 }\n^\n'])
    const session = await openNftSession({ run, start, kinds: ['interactive'] })
    const thrown = await session.run('add element ip platnet health { 1, 2 }\n').catch((error: unknown) => error)
    assert.ok(thrown instanceof NftError)
    assert.deepEqual([thrown.code, thrown.command, thrown.element], ['refused', 'add element ip platnet health', '2'])
    assert.deepEqual(inputs, ['add element ip platnet health { 1,\n2 }\n'])
    assert.equal(session.kind, 'interactive')
    await session.close()
  })

  test('what refuses three transactions that a started nft carries out is used no more', async () => {
    const { start } = interactive(answering('Error: internal error\n'))
    const { run, inputs } = programs()
    const session = await openNftSession({ run, start, kinds: ['interactive'] })
    for (let attempt = 0; attempt < 4; attempt++) await session.run(element)
    assert.deepEqual([session.kind, inputs.length], ['program', 4])
    assert.ok(session.isOwn({ portId: 77 }))
  })

  test('a lost answer is not repeated', async () => {
    const { start } = interactive(answering('netlink: Error: Could not process rule: No buffer space available\n'))
    const { run, inputs } = programs()
    const session = await openNftSession({ run, start, kinds: ['interactive'] })
    assert.equal(await session.run(element).catch(codeOf), 'uncertain')
    assert.deepEqual(inputs, [])
    await session.close()
  })

  test('a busy kernel is asked again', async () => {
    const busy = '/dev/stdin:1:1-1: Error: Could not process rule: Device or resource busy\n'
    const { run, inputs } = programs([
      undefined,
      busy,
      'netlink: Error: cache initialization failed: Interrupted system call\n',
    ])
    const session = await openNftSession({ run, start: interactive(() => '').start, kinds: ['program'] })
    await session.applyRuleset('add table ip platnet\n')
    assert.equal(inputs.length, 4)
  })

  test('a text that is no list of elements reaches nothing', async () => {
    const { run, inputs } = programs()
    const session = await openNftSession({ run, start: interactive(() => '').start, kinds: ['program'] })
    assert.equal(await session.run('flush ruleset\n').catch(codeOf), 'invalid')
    assert.deepEqual(inputs, ['list tables\n'])
  })

  test('where no nft can be run, opening says so', async () => {
    const { run } = programs(['netlink: Error: cache initialization failed: Operation not permitted\n'])
    const opened = openNftSession({ run, start: interactive(() => undefined).start, kinds: ['interactive', 'program'] })
    assert.equal(await opened.catch(codeOf), 'unavailable')
  })
})

for (const file of ['libplatnet-none.so.1', 'libc.so.6', '/etc/passwd'])
  test(`${file} is no library of nft`, () => assert.equal(NftLibrary.open(file), undefined))
