import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { readLogOptions } from '../../../../src/api/connect/log-options.ts'
import { StatusError } from '../../../../src/api/status.ts'

const read = (query: string) => readLogOptions(new URLSearchParams(query), 'web')

function refused(query: string): StatusError {
  try {
    read(query)
  } catch (thrown) {
    if (thrown instanceof StatusError) return thrown
    throw thrown
  }
  assert.fail(`${query} was not refused`)
}

describe('options of a log', () => {
  test('all of them reach the kubelet, and nothing else does', () => {
    const query = 'container=c&follow=true&previous=1&timestamps=&tailLines=5&limitBytes=9&sinceSeconds=60&pretty=true'
    const options = read(query)
    assert.equal(
      options.query.toString(),
      'follow=true&previous=true&timestamps=true&sinceSeconds=60&tailLines=5&limitBytes=9',
    )
    assert.deepEqual([options.container, options.follow, options.skipsVerification], ['c', true, false])
    assert.equal(read('insecureSkipTLSVerifyBackend=true').skipsVerification, true)
  })

  test('false and 0 switch off, in any case', () => {
    assert.equal(read('follow=False&previous=0&timestamps=FALSE').query.toString(), '')
  })

  test('a time is passed on in seconds of UTC', () => {
    const since = encodeURIComponent('2026-11-28T12:00:00.5+01:00')
    assert.equal(read(`sinceTime=${since}`).query.get('sinceTime'), '2026-11-28T11:00:00Z')
    assert.equal(refused('sinceTime=yesterday').code, 'BadRequest')
    assert.equal(refused('sinceTime=2026-13-40T00:00:00Z').code, 'BadRequest')
  })

  test('values out of range are a 422 with the words of kube-apiserver', () => {
    const cases = [
      ['tailLines=-1', 'tailLines: Invalid value: -1: must be greater than or equal to 0'],
      ['limitBytes=0', 'limitBytes: Invalid value: 0: must be greater than 0'],
      ['sinceSeconds=0', 'sinceSeconds: Invalid value: 0: must be greater than 0'],
      [
        'sinceSeconds=1&sinceTime=2026-11-28T12:00:00Z',
        ': Forbidden: at most one of `sinceTime` or `sinceSeconds` may be specified',
      ],
    ] as const
    for (const [query, why] of cases) {
      const { httpCode, message } = refused(query)
      assert.deepEqual([httpCode, message], [422, `PodLogOptions "web" is invalid: ${why}`])
    }
    assert.equal(read('tailLines=0').query.toString(), 'tailLines=0')
  })

  test('what is no whole number of 64 bits is a 400 with the words of kube-apiserver', () => {
    assert.equal(refused('tailLines=x').message, 'strconv.ParseInt: parsing "x": invalid syntax')
    const large = '9223372036854775808'
    assert.equal(refused(`limitBytes=${large}`).message, `strconv.ParseInt: parsing "${large}": value out of range`)
    assert.equal(read('limitBytes=9223372036854775807').query.toString(), 'limitBytes=9223372036854775807')
  })
})
