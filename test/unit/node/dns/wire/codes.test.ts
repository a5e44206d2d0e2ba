import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  classCode,
  className,
  rcodeCode,
  rcodeName,
  typeCode,
  typeName,
} from '../../../../../src/node/dns/wire/codes.ts'

test('types, classes and rcodes have names; those without one have the generic names of RFC 3597', () => {
  assert.deepEqual([typeName(28), typeName(1234)], ['AAAA', 'TYPE1234'])
  assert.deepEqual(
    [typeCode('aaaa'), typeCode('TYPE1234'), typeCode('TYPE65536'), typeCode('NO')],
    [28, 1234, undefined, undefined],
  )
  assert.deepEqual([className(1), className(9), classCode('ch'), classCode('CLASS9')], ['IN', 'CLASS9', 3, 9])
  assert.deepEqual(
    [rcodeName(3), rcodeName(99), rcodeCode('nxdomain'), rcodeCode('x')],
    ['NXDOMAIN', 'RCODE99', 3, undefined],
  )
})
