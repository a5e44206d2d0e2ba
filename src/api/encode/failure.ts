import type { JsonObject } from '../../model/api-object.ts'
import { acceptsOnlyProtobuf, protobufType } from '../negotiate/accept.ts'
import { renderFailure, type StatusError } from '../status.ts'
import type { EncodedAnswer } from './answer.ts'
import { toProtobuf } from './protobuf.ts'

/** Encodes an error in the form that the client accepts; JSON where it accepts no known form. */
export function encodeFailure(status: StatusError, accept: string | undefined): EncodedAnswer {
  const body = renderFailure(status)
  const { httpCode } = status
  if (!acceptsOnlyProtobuf(accept)) return { httpCode, contentType: 'application/json', body }
  const bytes = toProtobuf({ group: '', version: 'v1', kind: 'Status' }, JSON.parse(body) as JsonObject)
  return { httpCode, contentType: protobufType, body: bytes ?? body }
}
