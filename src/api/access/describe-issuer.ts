import type { EncodedAnswer } from '../encode/answer.ts'
import type { TokenIssuer } from './token-issuer.ts'

/** Returns a document with which other programs verify tokens: the issuer or its keys (OpenID Connect Discovery 1.0 section 3). */
export function describeIssuer(issuer: TokenIssuer, document: 'configuration' | 'keys'): EncodedAnswer {
  if (document === 'keys') {
    return { httpCode: 200, contentType: 'application/jwk-set+json', body: JSON.stringify(issuer.keys()) }
  }
  const body = JSON.stringify({
    issuer: issuer.name,
    jwks_uri: `${issuer.name.replace(/\/$/, '')}/openid/v1/jwks`,
    response_types_supported: ['id_token'],
    subject_types_supported: ['public'],
    id_token_signing_alg_values_supported: ['ES256'],
  })
  return { httpCode: 200, contentType: 'application/json', body }
}
