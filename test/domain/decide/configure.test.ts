/** A conversation is configured first, and changes its settings later. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { describe, expect, it } from '@jest/globals'
import type { MessageInput } from '../../../src/domain/values/message.js'
import { append, configure } from '../../support/commands.js'
import { configuredWith, givenEvents, nothing, small } from '../../support/given-events.js'

const user = (id: string, content = 'Berth 7?'): MessageInput => ({ id, role: 'user', content })

describe('Configure', () => {
  it('records every setting with its number, the first time', () => {
    const [event] = nothing().when(configure({ settings: { keepRecent: 7 }, scope: 'tenant' })).events
    expect(event).toMatchObject({
      type: 'ConversationConfigured',
      data: { settings: { keepRecent: 7 }, scope: 'tenant', policy: { keepRecent: 7, contextBudget: 0.8 } },
    })
  })

  it('records nothing where nothing changes, and adds to what was set before', () => {
    givenEvents(small).when(configure()).records()
    givenEvents(small)
      .when(configure({ settings: { chunkSize: 3 } }))
      .records()
    expect(givenEvents(small).when(configure({ settings: { keepRecent: 7 } })).events).toMatchObject([
      { data: { settings: { modelMaxTokens: 1_000, chunkSize: 3, keepRecent: 7 } } },
    ])
  })

  it('refuses another scope, and settings that leave no window', () => {
    givenEvents(configuredWith({}, 'one'))
      .when(configure({ scope: 'two' }))
      .rejected({ kind: 'ScopeChanged', recorded: 'one', given: 'two' })
    givenEvents(small)
      .when(configure({ scope: 'two' }))
      .rejected({ kind: 'ScopeChanged', recorded: undefined, given: 'two' })
    givenEvents(configuredWith({}, 'one'))
      .when(configure({ scope: 'one' }))
      .records()
    givenEvents(small)
      .when(configure({ settings: { outputReserve: 999 } }))
      .rejected(expect.objectContaining({ kind: 'BadPolicy', field: 'modelMaxTokens' }))
  })

  it('comes before anything else', () => {
    nothing()
      .when(append(user('m')))
      .rejected({ kind: 'NotConfigured' })
    nothing().when({ type: 'PinMessage', messageId: 'm' }).rejected({ kind: 'NotConfigured' })
  })
})
