import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { z } from 'zod'
import {
  byteSize,
  dnsName,
  dualStackCidrs,
  duration,
  flagValue,
  httpUrl,
  ipAddress,
  plainText,
  portNumber,
  portRange,
  wholeNumber,
} from '../../../src/config/index.ts'

const accepted: readonly (readonly [name: string, schema: z.ZodType, input: unknown, value: unknown])[] = [
  ['address', ipAddress, ' 192.0.2.1 ', '192.0.2.1'],
  ['address', ipAddress, 'FD00:0::1', 'fd00::1'],
  ['network list', dualStackCidrs, 'fd00::/8, 10.0.0.0/8', ['fd00::/8', '10.0.0.0/8']],
  ['network list', dualStackCidrs, ['10.0.0.0/8'], ['10.0.0.0/8']],
  ['port', portNumber, '443', 443],
  ['port', portNumber, 65535, 65535],
  ['port range', portRange, '1-1', { first: 1, last: 1 }],
  ['port range', portRange, '30000 - 32767', { first: 30000, last: 32767 }],
  ['duration', duration, '40s', 40_000],
  ['duration', duration, '1h1m500ms', 3_660_500],
  ['flag', flagValue, 'false', false],
  ['flag', flagValue, true, true],
  ['name', dnsName, 'node-1.example', 'node-1.example'],
  ['URL', httpUrl, 'https://h:6443/', 'https://h:6443'],
  ['text', plainText, 3, '3'],
  ['size', byteSize(1, 2 ** 21), '1536Ki', 1_572_864],
  ['size', byteSize(1, 2 ** 21), 4096, 4096],
  ['number', wholeNumber(8, 400), '400', 400],
]

for (const [name, schema, input, value] of accepted) {
  test(`The ${name} ${JSON.stringify(input)} is understood, and printed so that it means the same.`, () => {
    assert.deepEqual(schema.parse(input), value)
    assert.deepEqual(schema.parse(schema.encode(value)), value)
  })
}

const refused: readonly (readonly [name: string, schema: z.ZodType, input: unknown])[] = [
  ['duration', duration, '0s'],
  ['duration', duration, '40'],
  ['duration', duration, '1s1h'],
  ['duration', duration, '99999h'],
  ['address', ipAddress, '10.0.0.0/8'],
  ['address', ipAddress, '010.0.0.1'],
  ['address', ipAddress, 1],
  ['network list', dualStackCidrs, '10.0.0.0/8,10.1.0.0/16'],
  ['network list', dualStackCidrs, ''],
  ['network list', dualStackCidrs, [1]],
  ['port', portNumber, '0'],
  ['port', portNumber, 65536],
  ['port', portNumber, '0x50'],
  ['port', portNumber, 1e3 + 0.5],
  ['port range', portRange, '2-1'],
  ['port range', portRange, '1-2-3'],
  ['port range', portRange, '1'],
  ['flag', flagValue, 'yes'],
  ['name', dnsName, 'Node_1'],
  ['name', dnsName, `${'a'.repeat(64)}`],
  ['name', dnsName, 'a..b'],
  ['URL', httpUrl, 'https://user:pass@h'],
  ['URL', httpUrl, 'ftp://h'],
  ['URL', httpUrl, 'h:6443'],
  ['size', byteSize(64, 128), '63'],
  ['size', byteSize(64, 128), '1Ki'],
  ['size', byteSize(64, 128), '1e2'],
  ['number', wholeNumber(8, 400), 7],
  ['number', wholeNumber(8, 400), '0x10'],
]

for (const [name, schema, input] of refused) {
  test(`The ${name} ${JSON.stringify(input)} is refused, and the message begins with what was expected.`, () => {
    const { error } = schema.safeParse(input)
    assert.equal(error?.issues.length, 1)
    assert.match(error?.issues[0]?.message ?? '', /^expected /)
  })
}
