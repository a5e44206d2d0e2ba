// The thread that owns the database: every statement runs here, none on the main thread.
import { parentPort } from 'node:worker_threads'
import { createIdleMemory } from '../../loop/idle-memory.ts'
import { toStoreError } from './sqlite-error.ts'
import { openSqliteFile, type SqliteFile } from './sqlite-file.ts'
import type { SqliteReply, SqliteRequest } from './sqlite-protocol.ts'

let file: SqliteFile | undefined
let path = ''

for (const memory of createIdleMemory()) void memory.start()

parentPort?.on('message', (request: SqliteRequest) => parentPort?.postMessage(reply(request)))

function reply(request: SqliteRequest): SqliteReply {
  try {
    return { answer: answer(request) }
  } catch (thrown) {
    const { code, message, remedy } = toStoreError(thrown, path)
    return { error: { code, message, remedy } }
  }
}

function answer(request: SqliteRequest): unknown {
  if (request.call === 'open') {
    path = request.ask.path
    file = openSqliteFile(path, request.ask.dialect)
    return { revision: file.revision, compactRevision: file.compactRevision }
  }
  if (request.call === 'close') return file?.close()
  if (file === undefined) throw new Error('the database is not open')
  switch (request.call) {
    case 'read':
      return file.read(request.ask.fromSeq)
    case 'append':
      return file.append(request.ask.rows)
    case 'recover':
      return file.recover(request.ask.revision, path)
    case 'copy':
      return file.copyTo(request.ask.path)
    case 'compact':
      return file.compact(request.ask.revision, request.ask.fromSeq)
  }
}
