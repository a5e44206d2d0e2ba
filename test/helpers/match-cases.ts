import { routingTable } from './routing-tables.ts'

/** Makes the table that `matchCases` are about. */
export function matchTable(): ReturnType<typeof routingTable> {
  return routingTable({
    'shop.example.com': { exact: ['/', '/pay', '/pay/'], prefix: ['/pay', '/pay/card', '/'] },
    'cart.example.com': { prefix: ['/cart'], fallback: true },
    'bare.example.com': { exact: ['/only'] },
    '*.example.com': { prefix: ['/'] },
    '': { prefix: ['/any'], fallback: true },
  })
}

/** Requests with the host pattern, kind and path of the route that they have. */
export const matchCases: readonly (readonly [host: string, path: string, expected: string])[] = [
  ['shop.example.com', '/', 'shop.example.com exact /'],
  ['shop.example.com', '/pay', 'shop.example.com exact /pay'],
  ['shop.example.com', '/pay/', 'shop.example.com exact /pay/'],
  ['shop.example.com', '/pay/other', 'shop.example.com prefix /pay'],
  ['shop.example.com', '/pay/card', 'shop.example.com prefix /pay/card'],
  ['shop.example.com', '/pay/card/', 'shop.example.com prefix /pay/card'],
  ['shop.example.com', '/pay/cards', 'shop.example.com prefix /pay'],
  ['shop.example.com', '/pay//', 'shop.example.com prefix /pay'],
  ['shop.example.com', '/payment', 'shop.example.com prefix /'],
  ['shop.example.com', '/PAY', 'shop.example.com prefix /'],
  ['shop.example.com', '//pay', 'shop.example.com prefix /'],
  ['shop.example.com', '/x/../pay', 'shop.example.com prefix /'],
  ['shop.example.com', '/pay%2Fcard', 'shop.example.com prefix /'],
  ['SHOP.example.com.:8080', '/pay', 'shop.example.com exact /pay'],
  ['cart.example.com', '/cart', 'cart.example.com prefix /cart'],
  ['cart.example.com', '/carts', 'cart.example.com default '],
  ['bare.example.com', '/else', ' default '],
  ['other.example.com', '/any', '*.example.com prefix /'],
  ['OTHER.example.com:80', '/', '*.example.com prefix /'],
  ['.example.com', '/any', ' prefix /any'],
  ['a.b.example.com', '/any/thing', ' prefix /any'],
  ['example.com', '/x', ' default '],
  ['shop.example.com,other.example.com', '/pay', ' default '],
  ['*.example.com', '/any', '*.example.com prefix /'],
  ['*', '/any', ' prefix /any'],
  ['', '/any', ' prefix /any'],
  ['[::1]:80', '/any', ' prefix /any'],
  ['shop.example.com', '*', ' default '],
]
