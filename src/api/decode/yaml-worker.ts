// The thread that reads large YAML bodies: a slow text there delays no other request.
import { parentPort } from 'node:worker_threads'
import { StatusError, type StatusReason } from '../status.ts'
import { readYaml, type YamlReading } from './yaml-text.ts'

/** The reply of the thread: a reading, or the error that refuses the request. */
export type YamlReply = { readonly reading: YamlReading } | { readonly code: StatusReason; readonly message: string }

parentPort?.on('message', (text: string) => parentPort?.postMessage(reply(text)))

function reply(text: string): YamlReply {
  try {
    return { reading: readYaml(text) }
  } catch (thrown) {
    if (thrown instanceof StatusError) return { code: thrown.code, message: thrown.message }
    throw thrown
  }
}
