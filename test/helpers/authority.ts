import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { ensureClusterCa, issueCertificate } from '../../src/pki/index.ts'

export interface Authority {
  readonly certPem: string
  /** A certificate for 127.0.0.1, good for a server and for a client of that name and those groups. */
  issue(commonName: string, ...groups: string[]): Promise<{ certPem: string; keyPem: string }>
}

/** A cluster CA that is not stored. */
export async function createAuthority(): Promise<Authority> {
  const folder = mkdtempSync(join(tmpdir(), 'platnet-ca-'))
  try {
    const ca = await ensureClusterCa(folder)
    const names = { dnsNames: ['localhost'], ips: ['127.0.0.1'] }
    return {
      certPem: ca.certPem,
      issue: (commonName, ...organizations) =>
        issueCertificate(ca, { commonName, organizations, ...names, usages: ['server', 'client'], days: 1 }),
    }
  } finally {
    rmSync(folder, { recursive: true })
  }
}
