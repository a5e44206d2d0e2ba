import type { Json } from '../../../model/api-object.ts'
import { textAt, valueAt } from '../../document.ts'
import { type FieldError, invalidField, requiredField } from '../../schema/field-error.ts'
import { checkDnsSubdomain, checkPortNumber } from '../../schema/names.ts'

/** Checks how a webhook is reached: by exactly one of an https URL and a Service. */
export function checkClientConfig(config: Json, path: string): readonly FieldError[] {
  const [url, service] = [valueAt(config, 'url'), valueAt(config, 'service')]
  if ((url === undefined) === (service === undefined))
    return [requiredField(path, 'exactly one of url or service is required')]
  return service === undefined ? checkUrl(textAt(url), `${path}.url`) : checkService(service, `${path}.service`)
}

const form = '; desired format: https://host[/path]'

/** Scheme, authority, path, query and fragment (RFC 3986, appendix B). */
const urlParts = /^(?:([a-z][a-z0-9+.-]*):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#(.*))?$/i

/** Control characters, a percent sign that escapes nothing, or no scheme and a colon before the first slash. */
const unreadable = /\p{Cc}|%(?![\da-f]{2})|^(?![a-z][a-z\d+.-]*:)[^/]*:/iu

function checkUrl(url: string, path: string): readonly FieldError[] {
  if (unreadable.test(url.replace(/\?[^#]*/, ''))) return [unparsable(url, path)]
  const [, scheme = '', authority = '', , query = '', fragment = ''] = urlParts.exec(url) ?? []
  const at = authority.lastIndexOf('@')
  const [user, host] = [authority.slice(0, Math.max(0, at)), authority.slice(at + 1)]
  const errors = [
    ...(scheme.toLowerCase() === 'https'
      ? []
      : [invalidField(path, scheme.toLowerCase(), `'https' is the only allowed URL scheme${form}`)]),
    ...(host === '' ? [invalidField(path, host, `host must be specified${form}`)] : []),
    ...(at < 0 ? [] : [invalidField(path, user, 'user information is not permitted in the URL')]),
    ...(fragment === '' ? [] : [invalidField(path, fragment, 'fragments are not permitted in the URL')]),
    ...(query === '' ? [] : [invalidField(path, query, 'query parameters are not permitted in the URL')]),
  ]
  if (errors.length > 0 || URL.canParse(url)) return errors
  return [unparsable(url, path)]
}

function unparsable(url: string, path: string): FieldError {
  return requiredField(path, `url must be a valid URL: ${JSON.stringify(url)} cannot be parsed${form}`)
}

function checkService(service: Json, path: string): readonly FieldError[] {
  const problem = checkPortNumber(Number(textAt(service, 'port')))
  return [
    ...['name', 'namespace']
      .filter((field) => textAt(service, field) === '')
      .map((field) => requiredField(`${path}.${field}`)),
    ...(problem === undefined
      ? []
      : [invalidField(`${path}.port`, valueAt(service, 'port'), `port is not valid: ${problem}`)]),
    ...checkPath(textAt(service, 'path'), `${path}.path`),
  ]
}

/** Checks the path at a Service: segments that are names; one slash may end it. */
function checkPath(text: string, path: string): readonly FieldError[] {
  const refuse = (why: string) => invalidField(path, text, why)
  if (text === '' || text === '/') return []
  if (text === '//') return [refuse('segment[0] may not be empty')]
  const segments = text.slice(1).replace(/\/$/, '').split('/')
  return [
    ...(text.startsWith('/') ? [] : [refuse("must start with a '/'")]),
    ...segments.flatMap((segment, index) => {
      if (segment === '') return [refuse(`segment[${index}] may not be empty`)]
      const problem = checkDnsSubdomain(segment)
      return problem === undefined ? [] : [refuse(`segment[${index}]: ${problem}`)]
    }),
  ]
}
