import type { IncomingMessage } from 'node:http'
import { nextTurn } from '../../loop/time-slice.ts'
import type { Json } from '../../model/api-object.ts'
import { protobufType } from '../negotiate/accept.ts'
import type { Patch } from '../request/request.ts'
import { badRequest, unsupportedMediaType } from '../status.ts'
import { type DecodedBody, decodeJson } from './json-text.ts'
import { parseProtobufBody } from './protobuf.ts'
import { bodyOf } from './receive-body.ts'
import { decodeYaml, type YamlReader } from './yaml-body.ts'

type Decoder = (bytes: Uint8Array, readYaml: YamlReader) => DecodedBody | Promise<DecodedBody>

/** The object formats by media type. */
const decoders: Readonly<Record<string, Decoder>> = {
  'application/json': decodeJson,
  'application/yaml': decodeYaml,
  [protobufType]: decodeProtobuf,
}

const patchTypes: Readonly<Record<string, PatchBody['type']>> = {
  'application/json-patch+json': 'json',
  'application/merge-patch+json': 'merge',
  'application/strategic-merge-patch+json': 'strategic',
  'application/apply-patch+yaml': 'apply',
}

/** A patch of the stored object, or the configuration of a server-side apply. */
export type PatchBody = Patch | (DecodedBody & { readonly type: 'apply' })

/** A longer body may take a good part of a second: of such requests one is worked on in a turn of the event loop. */
const longBodyBytes = 64 * 1024

async function readBody(request: IncomingMessage): Promise<Uint8Array> {
  const bytes = bodyOf(request)
  if (bytes.length > longBodyBytes) await nextTurn()
  return bytes
}

/** An object in the format that Content-Type names (JSON where it is absent); otherwise a 415. */
export async function readObject(request: IncomingMessage, readYaml: YamlReader): Promise<DecodedBody> {
  const decode = decoderOf(request)
  const bytes = await readBody(request)
  if (bytes.length === 0) throw badRequest('the body of the request is empty, expected an object')
  return afterTurn(bytes, await decode(bytes, readYaml))
}

/** What a long body says is worked on in another turn than it was read in. */
async function afterTurn<Read>(bytes: Uint8Array, read: Read): Promise<Read> {
  if (bytes.length > longBodyBytes) await nextTurn()
  return read
}

/** Undefined for an empty body. */
export async function readOptionalObject(request: IncomingMessage, readYaml: YamlReader): Promise<Json | undefined> {
  const bytes = await readBody(request)
  return bytes.length === 0 ? undefined : (await decoderOf(request)(bytes, readYaml)).value
}

/** Custom resources take no strategic merge patch: what their lists are is not known to those who send one. */
export async function readPatch(request: IncomingMessage, isCustom: boolean, readYaml: YamlReader): Promise<PatchBody> {
  const type = patchTypes[mediaTypeOf(request)]
  const isTaken = (other: string) => !(isCustom && patchTypes[other] === 'strategic')
  if (type === undefined || (isCustom && type === 'strategic')) {
    throw unsupportedMediaType(Object.keys(patchTypes).filter(isTaken))
  }
  const bytes = await readBody(request)
  const read = await (type === 'apply' ? decodeYaml(bytes, readYaml) : decodeJson(bytes))
  return { type, ...(await afterTurn(bytes, read)) }
}

/** A message of protobuf cannot say a field twice. */
function decodeProtobuf(bytes: Uint8Array): DecodedBody {
  return { value: parseProtobufBody(bytes), problems: { findDuplicates: () => [] } }
}

function decoderOf(request: IncomingMessage): Decoder {
  const decode = decoders[mediaTypeOf(request) || 'application/json']
  if (decode === undefined) throw unsupportedMediaType(Object.keys(decoders))
  return decode
}

function mediaTypeOf(request: IncomingMessage): string {
  return (request.headers['content-type'] ?? '').split(';', 1)[0]?.trim().toLowerCase() ?? ''
}
