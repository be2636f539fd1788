/** Every relative link of the documents leads to a file and, if it has a fragment, to a heading. */
import { describe, expect, it } from '@jest/globals'
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { dirname, join, normalize } from 'node:path'

const pages = [
  ...readdirSync('.').filter((name) => name.endsWith('.md')),
  ...readdirSync('docs', { recursive: true, encoding: 'utf8' })
    .filter((path) => path.endsWith('.md'))
    .map((path) => join('docs', path)),
]

const withoutCode = (text: string): string => text.replaceAll(/^```[\s\S]*?^```$/gmu, '')

/** The fragment of a heading, as GitHub derives it. */
const fragmentOf = (heading: string): string =>
  heading
    .toLowerCase()
    .replaceAll(/[^\p{Letter}\p{Number}\s_-]/gu, '')
    .replaceAll(' ', '-')

const fragmentsOf = (page: string): string[] =>
  [...withoutCode(readFileSync(page, 'utf8')).matchAll(/^#+ (.+)$/gmu)].map(([, heading = '']) => fragmentOf(heading))

describe('the links of the documents', () => {
  it.each(pages)('%s', (page) => {
    const links = [...withoutCode(readFileSync(page, 'utf8')).matchAll(/\]\(([^)\s]+)\)/gu)].map(
      ([, link = '']) => link,
    )
    const broken = links
      .filter((link) => !/^[a-z]+:/u.test(link))
      .filter((link) => {
        const [path = '', fragment] = link.split('#')
        const target = path === '' ? page : normalize(join(dirname(page), path))
        if (!existsSync(target)) return true
        return fragment !== undefined && (statSync(target).isDirectory() || !fragmentsOf(target).includes(fragment))
      })
    expect(broken).toEqual([])
  })
})
