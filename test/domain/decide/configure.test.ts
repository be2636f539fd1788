/** A conversation is configured first, and changes its settings later. */
/* oxlint-disable jest/expect-expect -- `records` and `rejected` say what is expected */
import { describe, expect, it } from '@jest/globals'
import type { MessageInput } from '../../../src/domain/values/message.js'
import { append, configure } from '../../support/commands.js'
import { configuredWith, given, nothing, small } from '../../support/given.js'

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
    given(small).when(configure()).records()
    given(small)
      .when(configure({ settings: { chunkSize: 3 } }))
      .records()
    expect(given(small).when(configure({ settings: { keepRecent: 7 } })).events).toMatchObject([
      { data: { settings: { modelMaxTokens: 1_000, chunkSize: 3, keepRecent: 7 } } },
    ])
  })

  it('refuses another scope, and settings that leave no window', () => {
    given(configuredWith({}, 'one'))
      .when(configure({ scope: 'two' }))
      .rejected({ kind: 'ScopeChanged', recorded: 'one', given: 'two' })
    given(small)
      .when(configure({ scope: 'two' }))
      .rejected({ kind: 'ScopeChanged', recorded: undefined, given: 'two' })
    given(configuredWith({}, 'one'))
      .when(configure({ scope: 'one' }))
      .records()
    given(small)
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
