/** Titles of Continue’s sessions. */
import { expect, it } from '@jest/globals'
import { plainContentId } from '../../src/importers/content-id.js'
import { continueDev } from '../../src/importers/continue.js'
import { asFile, itemsFrom, ofKind } from './reading.js'

it.each([
  ['New Session', undefined],
  ['Untitled Session', undefined],
  ['Paint the hull', 'Paint the hull'],
])('a session with the title %s has the title %s', (title, expected) => {
  const session = { sessionId: '9c0e', title, workspaceDirectory: '', history: [] }
  const items = itemsFrom(continueDev.read('9c0e.json', plainContentId), asFile(session))
  expect(ofKind(items, 'conversation').map((conversation) => conversation.title)).toEqual([expected])
})
