import assert from 'node:assert/strict'
import { fstatSync, openSync } from 'node:fs'
import { test } from 'node:test'
import { chooseFormat, createLogging, type LogFormat } from '../../../src/observe/index.ts'

function record(filter: string, format: LogFormat = 'json') {
  const lines: string[] = []
  const logging = createLogging({ filter, format, stream: { write: (line) => lines.push(line) } })
  return { lines, logging }
}

test('A record is one JSON line with time, level, target, message and fields.', () => {
  const { lines, logging } = record('info')
  logging.logger('platform_dns').child('server').info('listening', { port: 53, token: 'abc' })
  const { time, ...rest } = JSON.parse(lines[0] ?? '')
  assert.match(time, /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/)
  assert.deepEqual(rest, {
    level: 'info',
    target: 'platform_dns::server',
    message: 'listening',
    fields: { port: 53, token: '[redacted]' },
  })
})

test('Only what the filter lets through is written, and enabled() agrees.', () => {
  const { lines, logging } = record('warn,platform_dns=debug,platform_dns::cache=off')
  const dns = logging.logger('platform_dns')
  const cache = dns.child('cache')
  dns.debug('a')
  dns.trace('b')
  cache.error('c')
  logging.logger('platform_kubelet').info('d')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).message),
    ['a'],
  )
  assert.deepEqual([dns.enabled('debug'), dns.enabled('trace'), cache.enabled('error')], [true, false, false])
})

test('A directive on fields decides on the records that carry them.', () => {
  const { lines, logging } = record('warn,a[{service}]=debug')
  const log = logging.logger('a')
  log.debug('with', { service: 'web' })
  log.debug('without')
  log.debug('other', { node: 'n1' })
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).message),
    ['with'],
  )
})

test('What stands in a record moves no cursor and is no other line, in whatever form it is written.', () => {
  const hostile = 'x\u001b[2J\r\nINFO: all is well\u009b1A\u202etxt\u007f\u2028'
  for (const format of ['json', 'journald', 'pretty'] as const) {
    const { lines, logging } = record('info', format)
    logging.logger('a').info(hostile, { text: hostile, error: new Error(hostile) })
    const [line = '', ...others] = lines
    assert.deepEqual(others, [])
    assert.equal(line.indexOf('\n'), line.length - 1, format)
    assert.doesNotMatch(line.slice(0, -1), /[\p{Cc}\u2028\u202e]/u, format)
    if (format === 'json') assert.equal(JSON.parse(line).message, hostile)
  }
})

test('The parts of a target have underscores, whatever their names are.', () => {
  const { lines, logging } = record('off,platform_controller_manager::garbage_collector=debug')
  logging.logger('platform_controller_manager').child('garbage-collector').debug('swept')
  assert.equal(JSON.parse(lines[0] ?? '').target, 'platform_controller_manager::garbage_collector')
})

test('A new filter changes loggers that are already in use.', () => {
  const { lines, logging } = record('info')
  const log = logging.logger('a')
  log.debug('before')
  assert.deepEqual(logging.setFilter('a=debug'), [])
  log.debug('after')
  assert.deepEqual(
    lines.map((line) => JSON.parse(line).message),
    ['after'],
  )
})

test('A bad directive is named in the log, whatever the level, and the rest works.', () => {
  const { lines, logging } = record('off,a=loud')
  assert.equal(lines.length, 1)
  assert.match(JSON.parse(lines[0] ?? '').message, /^log filter: "a=loud" is ignored: expected a level/)
  assert.equal(logging.logger('a').enabled('error'), false)
})

test('Under journald a line begins with its priority and has no time.', () => {
  const { lines, logging } = record('trace', 'journald')
  const log = logging.logger('a')
  for (const level of ['error', 'warn', 'info', 'debug', 'trace'] as const) log[level]('two\nlines')
  assert.deepEqual(
    lines.map((line) => line.slice(0, 3)),
    ['<3>', '<4>', '<6>', '<7>', '<7>'],
  )
  assert.equal(lines[0], '<3>{"level":"error","target":"a","message":"two\\nlines"}\n')
})

test('On a terminal a record is one readable line.', () => {
  const { lines, logging } = record('info', 'pretty')
  logging.logger('a::b').warn('slow', { tookMs: 12 })
  assert.match(lines[0] ?? '', /^\[\d\d:\d\d:\d\d\.\d+\] WARN: a::b: slow tookMs=12\n$/)
})

test('The automatic format follows terminal, journal and everything else.', () => {
  const fd = openSync('/dev/null', 'r')
  const { dev, ino } = fstatSync(fd)
  const journal = { JOURNAL_STREAM: `${dev}:${ino}` }
  assert.equal(chooseFormat('auto', { isTTY: true, fd }, journal), 'pretty')
  assert.equal(chooseFormat('auto', { fd }, journal), 'journald')
  assert.equal(chooseFormat('auto', { fd }, { JOURNAL_STREAM: '1:1' }), 'json')
  assert.equal(chooseFormat('auto', { fd }, {}), 'json')
  assert.equal(chooseFormat('json', { isTTY: true, fd }, journal), 'json')
})

test('Pretty lines show fields as key=value, quoted where a text has spaces.', () => {
  const { lines, logging } = record('info', 'pretty')
  logging.logger('platform_dns').info('it is so', { pid: 7, name: 'a b', zone: 'cluster.local', of: { x: [1] } })
  assert.match(lines.join(''), /INFO: platform_dns: it is so pid=7 name="a b" zone=cluster\.local of=\{"x":\[1\]\}\n$/)
})
