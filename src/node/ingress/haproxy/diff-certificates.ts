import type { RoutingTable } from '../../../model/routing-table.ts'
import {
  type CertificateFile,
  certificateFiles,
  certificateHash,
  certificateList,
  defaultCertificateFile,
  findDefaultCertificate,
  listLine,
  pemText,
} from './certificates.ts'
import type { Command } from './command.ts'
import type { Holding, ListedCertificate } from './holding.ts'

interface CertificateCommands {
  readonly before: readonly Command[]
  readonly after: readonly Command[]
  readonly certificates: ReadonlyMap<string, ListedCertificate>
}

/** haproxy ends these answers with what it did, line by line. */
const done = {
  /** A change that was interrupted leaves an empty one. */
  created: /^New empty certificate store|already exists/,
  set: /^Transaction (created|updated)/,
  committed: /\nSuccess!\s*$|^Success!\s*$/m,
  removed: /deleted in crtlist|deleted!/,
}

/** Adds what is new before it removes what is gone, so that a name always has a certificate. */
export function diffCertificates(
  held: Holding,
  certificates: RoutingTable['certificates'],
  { maxCommandBytes }: { readonly maxCommandBytes: number },
): CertificateCommands | { readonly reload: string } {
  const fallback = findDefaultCertificate(certificates)
  const hash = fallback && certificateHash(fallback.chainPem)
  if ((hash === undefined) !== (held.defaultCertificate === undefined))
    return { reload: `the default certificate ${hash === undefined ? 'is gone' : 'is new'}` }
  const wanted = certificateFiles(certificates)
  const added = wanted.filter(({ file }) => !held.certificates.has(file))
  const isNewDefault = fallback !== undefined && hash !== held.defaultCertificate
  const all = [...added.map(({ certificate }) => certificate), ...(isNewDefault ? [fallback] : [])]
  if (all.some((certificate) => pemText(certificate).length + 256 > maxCommandBytes))
    return { reload: 'a certificate is too long for the runtime socket' }
  const names = new Set(wanted.map(({ file }) => file))
  const gone = [...held.certificates.keys()].filter((file) => !names.has(file))
  return {
    before: [
      ...(isNewDefault ? replaceContent(defaultCertificateFile, pemText(fallback)) : []),
      ...added.flatMap(addCertificate),
    ],
    after: gone.flatMap(removeCertificate),
    certificates: new Map(wanted.map(({ file, hosts }) => [file, { hosts }])),
  }
}

function addCertificate({ file, certificate, hosts }: CertificateFile): readonly Command[] {
  return [
    { text: `new ssl cert ${file}`, success: done.created, certificate: file },
    ...replaceContent(file, pemText(certificate)),
    {
      text: `add ssl crt-list ${certificateList} <<\n${listLine(file, hosts)}\n`,
      success: done.committed,
      certificate: file,
    },
  ]
}

function replaceContent(file: string, pem: string): readonly Command[] {
  return [
    { text: `set ssl cert ${file} <<\n${pem}`, success: done.set, certificate: file },
    { text: `commit ssl cert ${file}`, success: done.committed, certificate: file },
  ]
}

function removeCertificate(file: string): readonly Command[] {
  return [
    { text: `del ssl crt-list ${certificateList} ${file}`, success: done.removed, certificate: file },
    { text: `del ssl cert ${file}`, success: done.removed, certificate: file },
  ]
}
