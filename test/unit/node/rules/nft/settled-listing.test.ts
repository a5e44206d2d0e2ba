import assert from 'node:assert/strict'
import { test } from 'node:test'
import { SettledListing } from '../../../../../src/node/rules/nft/settled-listing.ts'

test('a listing that others changed right after a write does not become that of the rules', () => {
  const listings = new SettledListing()
  assert.equal(listings.settle('a', 'ours'), 'ours')
  assert.equal(listings.settle('a', 'foreign'), 'ours')
  assert.equal(listings.settle('a', 'ours'), 'ours')
  assert.equal(listings.settle('a', 'foreign'), 'ours')
})

test('other rules have another listing, and another nft lists the same rules otherwise', () => {
  const listings = new SettledListing()
  assert.equal(listings.settle('a', 'ours'), 'ours')
  assert.equal(listings.settle('b', 'other rules'), 'other rules')
  assert.equal(listings.settle('b', 'by another nft'), 'other rules')
  assert.equal(listings.settle('b', 'by another nft'), 'by another nft')
  assert.equal(listings.settle('b', 'by another nft'), 'by another nft')
})
