import assert from 'node:assert/strict'
import { describe, test } from 'node:test'
import { createLinkRewriter } from '../../../../src/api/connect/links.ts'
import { rewritePage } from '../../../../src/api/connect/rewrite-page.ts'

const prefix = '/api/v1/namespaces/n/pods/web:8080/proxy'
const links = createLinkRewriter({ prefix, backend: '10.0.0.5:8080', asked: 'api.example:6443' })

describe('links of a proxied page', () => {
  test('with an absolute path lead through the server, with their query and fragment', () => {
    const cases = [
      ['/', `${prefix}/`],
      ['/a/b/?q=/x#y', `${prefix}/a/b/?q=/x#y`],
      ['http://10.0.0.5:8080/a', `${prefix}/a`],
      ['//10.0.0.5:8080/a', `${prefix}/a`],
      ['https://api.example:6443/a', `https://api.example:6443${prefix}/a`],
      [`${prefix}/a`, `${prefix}/a`],
      [`https://api.example:6443${prefix}/a`, `https://api.example:6443${prefix}/a`],
    ] as const
    for (const [link, rewritten] of cases) assert.equal(links(link), rewritten)
  })

  test('to other servers, relative ones and those of other schemes stay', () => {
    const kept = ['http://other.example/a', '//other.example/', 'a/b', '?q', '#top', '', 'mailto:a@b', 'javascript:x()']
    for (const link of kept) assert.equal(links(link), link)
  })

  test('are rewritten in the attributes that hold links, and nothing else of the page changes', async () => {
    const page = [
      '<!DOCTYPE html><!-- <a href="/comment"> --><A HREF=/a title="/t">ä &amp; b</A>',
      `<img src='/i.png' alt="/x"><script>var a = '<a href="/s">'</script><p data-x="/y">`,
      '<form action="/f" method=post><textarea><a href="/raw"></textarea><br/>',
    ].join('\n')
    const wanted = page
      .replace('<A HREF=/a title="/t">', `<a href="${prefix}/a" title="/t">`)
      .replace(`<img src='/i.png' alt="/x">`, `<img src="${prefix}/i.png" alt="/x">`)
      .replace('<form action="/f" method=post>', `<form action="${prefix}/f" method="post">`)
    assert.equal((await rewritePage(Buffer.from(page), undefined, links))?.toString(), wanted)
  })

  test('of a page that is not UTF-8, or not compressed as it says, are left', async () => {
    assert.equal(await rewritePage(Buffer.from('<a href="/\xe4">', 'latin1'), undefined, links), undefined)
    assert.equal(await rewritePage(Buffer.from('<a href="/">'), 'gzip', links), undefined)
  })
})
