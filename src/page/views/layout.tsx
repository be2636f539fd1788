/** What every page has: its head, the way to the others, and the keys. */
import type { Child } from 'hono/jsx'
import { raw } from 'hono/html'
import { conversationLink, link } from '../links.js'
import { Name, plain } from './text.js'

/** The rooms of one conversation, in the order of their keys. */
const ROOMS = [
  { key: '1', room: 'timeline', name: 'Timeline', path: '/conversation' },
  { key: '2', room: 'cycles', name: 'Cycles', path: '/cycles' },
  { key: '3', room: 'graph', name: 'Graph', path: '/graph' },
  { key: '4', room: 'editions', name: 'Editions', path: '/editions' },
  { key: '5', room: 'log', name: 'Log', path: '/log' },
  { key: '6', room: 'verify', name: 'Verify', path: '/verify' },
  { key: '7', room: 'forgotten', name: 'Forgotten', path: '/forgotten' },
] as const

/** The name of a room. */
export type Room = (typeof ROOMS)[number]['room']

const KEYS: readonly (readonly [string, string])[] = [
  ['← →', 'one revision back or on; with Shift ten'],
  ['[ ]', 'to the cycle, failure or undo before or behind'],
  ['Space', 'play, pause'],
  ['j k', 'next, previous message'],
  ['J K', 'next, previous line'],
  ['e or Enter', 'where the line comes from'],
  ['n p', 'next, previous hit'],
  ['/', 'search'],
  ['1 … 7', 'the rooms of a conversation'],
  ['Esc', 'close what lies on top'],
  ['?', 'these keys'],
]

interface LayoutProps {
  title: string
  /** The ledger's name. */
  ledger: string
  /** The conversation that the page is about. */
  conversationId?: string | undefined
  room?: Room | undefined
  query?: string | undefined
  children?: Child
}

/** The name of a conversation, and the ways to its rooms. */
function Rooms({ conversationId, room }: { conversationId: string; room: Room | undefined }): Child {
  return (
    <nav class="rooms" aria-label="Conversation">
      {ROOMS.map((each) => (
        <a
          href={
            each.room === 'timeline' ? conversationLink({ c: conversationId }) : link(each.path, { c: conversationId })
          }
          aria-current={each.room === room ? 'page' : undefined}
          data-key={each.key}
        >
          {each.name}
        </a>
      ))}
    </nav>
  )
}

/** A whole page. */
export function Layout({ title, ledger, conversationId, room, query, children }: LayoutProps): Child {
  return (
    <>
      {raw('<!doctype html>')}
      <html lang="en">
        <head>
          <meta charset="utf-8" />
          <title>{`${plain(title)} · Context Ledger`}</title>
          <meta name="viewport" content="width=device-width, initial-scale=1" />
          <meta name="color-scheme" content="light dark" />
          <link rel="icon" href="/assets/icon.svg" type="image/svg+xml" />
          <link rel="stylesheet" href="/assets/page.css" />
          <script type="module" src="/assets/page.js"></script>
        </head>
        <body>
          <a class="skip" href="#main">
            To the content
          </a>
          <header>
            <div class="top">
              <a class="home" href="/">
                Context Ledger
              </a>
              <span class="where">
                <Name text={ledger} most={60} />
              </span>
              <nav aria-label="Ledger">
                <a href="/" aria-current={title === 'Conversations' ? 'page' : undefined}>
                  Conversations
                </a>
                <a
                  href="/verify"
                  aria-current={title === 'Verify' && conversationId === undefined ? 'page' : undefined}
                >
                  Verify
                </a>
                <button type="button" class="quiet needs-script" data-open="keys" title="Keys (?)">
                  Keys
                </button>
              </nav>
              <form role="search" action="/search" class="find">
                {conversationId === undefined ? null : <input type="hidden" name="c" value={conversationId} />}
                <input
                  type="search"
                  name="q"
                  value={query}
                  placeholder={conversationId === undefined ? 'Search the ledger' : 'Search this conversation'}
                  aria-label={conversationId === undefined ? 'Search the ledger' : 'Search this conversation'}
                  data-search
                />
                <button type="submit">Search</button>
              </form>
            </div>
            {conversationId === undefined ? null : (
              <div class="sub">
                <h1>
                  <Name text={conversationId} />
                </h1>
                <Rooms conversationId={conversationId} room={room} />
              </div>
            )}
          </header>
          <main id="main" tabindex={-1}>
            <p class="in-print muted">
              {plain(title)}, of the ledger <Name text={ledger} />. Printed is what the page had loaded. What it had not
              stands in its place with its address on the page.
            </p>
            {children}
          </main>
          <dialog id="keys" aria-labelledby="keys-title">
            <h2 id="keys-title">Keys</h2>
            <dl class="keys">
              {KEYS.map(([key, says]) => (
                <>
                  <dt>
                    <kbd>{key}</kbd>
                  </dt>
                  <dd>{says}</dd>
                </>
              ))}
            </dl>
            <form method="dialog">
              <button>Close</button>
            </form>
          </dialog>
        </body>
      </html>
    </>
  )
}
