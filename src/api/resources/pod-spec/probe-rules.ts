import type { Json } from '../../../model/api-object.ts'
import { isJsonObject, listAt, objectAt, textAt } from '../../document.ts'
import { between, type Check, fields, nonNegative, oneOf, required } from '../../schema/checks.ts'
import {
  type FieldError,
  forbiddenField,
  invalidField,
  requiredField,
  unsupportedField,
} from '../../schema/field-error.ts'
import { checkPortName, checkPortNumber } from '../../schema/names.ts'

const probeHandlers = ['exec', 'httpGet', 'tcpSocket', 'grpc']
const hookHandlers = ['exec', 'httpGet', 'tcpSocket', 'sleep']

const numbers = fields({
  initialDelaySeconds: nonNegative,
  timeoutSeconds: nonNegative,
  periodSeconds: nonNegative,
  successThreshold: nonNegative,
  failureThreshold: nonNegative,
  terminationGracePeriodSeconds: between(1, Number.MAX_SAFE_INTEGER, 'must be greater than 0'),
})
const succeedsOnce = fields({ successThreshold: between(1, 1, 'must be 1') })

/** Checks a liveness or startup probe. */
export const vitalProbe: Check[] = [probeHandler, numbers, succeedsOnce]
export const readinessProbe: Check[] = [probeHandler, numbers, withoutGracePeriod]

function withoutGracePeriod(probe: Json, path: string): readonly FieldError[] {
  const seconds = objectAt(probe)['terminationGracePeriodSeconds']
  if (seconds === undefined || seconds === null) return []
  return [invalidField(`${path}.terminationGracePeriodSeconds`, seconds, 'must not be set for readinessProbes')]
}

const portOf = fields({ port: checkPort })
const httpGet: Check[] = [
  required('path'),
  fields({ scheme: oneOf('HTTP', 'HTTPS') }),
  portOf,
  (value, path) =>
    listAt(value, 'httpHeaders')
      .map((header) => textAt(header, 'name'))
      .filter((name) => !/^[-A-Za-z0-9]+$/.test(name))
      .map((name) => invalidField(`${path}.httpHeaders`, name, headerNameRule)),
]
const headerNameRule =
  "a valid HTTP header must consist of alphanumeric characters or '-' (e.g. 'X-Header-Name', regex used for validation is '[-A-Za-z0-9]+')"

/** Checks the port of a handler, a number or a name; an absent port counts as 0. */
function checkPort(port: Json, path: string): readonly FieldError[] {
  const why = typeof port === 'string' ? checkPortName(port) : checkPortNumber(Number(textAt(port)))
  return why === undefined ? [] : [invalidField(path, port, why)]
}

const handlers = fields({
  exec: (value, path) => (listAt(value, 'command').length === 0 ? [requiredField(`${path}.command`)] : []),
  httpGet: (value, path) => httpGet.flatMap((check) => check(withPort(value), path)),
  tcpSocket: (value, path) => portOf(withPort(value), path),
  grpc: (value, path) => portOf(withPort(value), path),
})

function withPort(value: Json): Json {
  return isJsonObject(value) ? { ...value, port: value['port'] ?? 0 } : value
}

function probeHandler(probe: Json, path: string): readonly FieldError[] {
  return oneHandler(probe, path, probeHandlers)
}

/** Checks that there is one handler: each one after the first is forbidden. */
function oneHandler(value: Json, path: string, names: readonly string[]): readonly FieldError[] {
  const object = objectAt(value)
  const [first, ...others] = names.filter((name) => object[name] !== undefined && object[name] !== null)
  if (first === undefined) return [requiredField(path, 'must specify a handler type')]
  return [
    ...handlers({ [first]: object[first] ?? null }, path),
    ...others.map((name) => forbiddenField(`${path}.${name}`, 'may not specify more than 1 handler type')),
  ]
}

/** Checks the lifecycle hooks of a container; `graceSeconds` bounds a sleep, `os` is the Pod's. */
export function lifecycle(graceSeconds: number, os: string): Check {
  const hook: Check = (value, path) => [
    ...oneHandler(value, path, hookHandlers),
    ...checkSleep(objectAt(value, 'sleep'), graceSeconds, `${path}.sleep`),
  ]
  return fields({ postStart: hook, preStop: hook, stopSignal: (signal, path) => checkStopSignal(signal, os, path) })
}

function checkSleep(sleep: Json, graceSeconds: number, path: string): readonly FieldError[] {
  const seconds = objectAt(sleep)['seconds']
  if (typeof seconds !== 'number' || (seconds >= 0 && seconds <= graceSeconds)) return []
  const why = `must be non-negative and less than terminationGracePeriodSeconds (${graceSeconds})`
  return [invalidField(path, seconds, why)]
}

const windowsSignals = ['SIGKILL', 'SIGTERM']

function checkStopSignal(signal: Json, os: string, path: string): readonly FieldError[] {
  if (os === '') return [forbiddenField(path, 'may not be set for containers with empty `spec.os.name`')]
  if (os === 'windows' && !windowsSignals.includes(textAt(signal)))
    return [unsupportedField(path, signal, windowsSignals)]
  if (os === 'linux' && !/^SIG[A-Z0-9+-]+$/.test(textAt(signal)))
    return [invalidField(path, signal, 'must be the name of a signal, such as SIGTERM or SIGRTMIN+3')]
  return []
}
