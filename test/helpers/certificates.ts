import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

interface KeyPair {
  readonly certificate: string
  readonly key: string
}

/** A certificate authority that lives as long as a test. */
export interface ThrowawayCa {
  readonly certificate: string
  /** A certificate for 127.0.0.1 and localhost, good for servers and clients. */
  issue(commonName: string): KeyPair
}

/** Made with `openssl`, which is on every Debian that has ca-certificates. */
export function makeThrowawayCa(commonName: string): ThrowawayCa {
  const ca = makeCertificate(commonName, undefined)
  return { certificate: ca.certificate, issue: (name) => makeCertificate(name, ca) }
}

function makeCertificate(commonName: string, issuer: KeyPair | undefined): KeyPair {
  const folder = mkdtempSync(join(tmpdir(), 'platnet-ca-'))
  const at = (file: string) => join(folder, file)
  const write = (file: string, text: string) => {
    writeFileSync(at(file), text)
    return at(file)
  }
  try {
    const curve = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256', '-nodes']
    const subject = ['-subj', `/CN=${commonName}`, '-addext', 'subjectAltName=IP:127.0.0.1,DNS:localhost']
    const signer =
      issuer === undefined ? [] : ['-CA', write('ca.pem', issuer.certificate), '-CAkey', write('ca.key', issuer.key)]
    const files = ['-keyout', at('key.pem'), '-out', at('cert.pem')]
    execFileSync('openssl', ['req', '-x509', '-days', '1', ...curve, ...subject, ...signer, ...files], {
      stdio: 'ignore',
    })
    return { certificate: readFileSync(at('cert.pem'), 'utf8'), key: readFileSync(at('key.pem'), 'utf8') }
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** A certificate request (PKCS #10) with a key of its own, made with `openssl`; `settings` are lines of its configuration. */
export function makeCertificateRequest(
  subject: string,
  options: readonly string[] = [],
  settings = '',
): { readonly request: string; readonly key: string } {
  const folder = mkdtempSync(join(tmpdir(), 'platnet-csr-'))
  const at = (file: string) => join(folder, file)
  try {
    writeFileSync(at('config'), `[req]\ndistinguished_name = name\n${settings}\n[name]\n`)
    const curve = options.includes('-newkey') ? [] : ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:P-256']
    const files = ['-config', at('config'), '-keyout', at('key.pem'), '-out', at('request.pem')]
    execFileSync('openssl', ['req', '-new', '-nodes', ...curve, '-subj', subject, ...options, ...files], {
      stdio: 'ignore',
    })
    return { request: readFileSync(at('request.pem'), 'utf8'), key: readFileSync(at('key.pem'), 'utf8') }
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}
