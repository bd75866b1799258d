const countWords = (text) => text.split(/\s+/).filter(Boolean).length

const wordsRule = (name, pattern, { wordsMin = 0, wordsMax }) => ({
  name,
  covers: (path) => pattern.test(path),
  find({ text }) {
    const words = countWords(text)
    const fits = words >= wordsMin && words <= wordsMax
    return fits ? [] : [{ line: 1, say: `${words} words, outside ${wordsMin} to ${wordsMax}` }]
  },
})

const lineRule = ({ name, pattern, say, covers = () => true }) => ({
  name,
  covers,
  find: ({ text }) =>
    text.split('\n').flatMap((content, index) => (pattern.test(content) ? [{ line: index + 1, say }] : [])),
})

export const proseRules = [
  wordsRule('readme-words', /^packages\/[^/]+\/README\.md$/, { wordsMin: 300, wordsMax: 900 }),
  wordsRule('agents-words', /^AGENTS\.md$/, { wordsMax: 600 }),
  wordsRule('decision-words', /^docs\/decisions\/[^/]+\.md$/, { wordsMax: 300 }),
  lineRule({
    name: 'no-workplace-path',
    pattern: /(?:^|[^\w./-])\/(?:work|farm)(?:\/\w|["'`])/,
    say: 'a path of the machine that it was written on',
  }),
  lineRule({
    name: 'no-machine-path',
    pattern: /(?:^|[^\w./-])\/(?:tmp|root|home)(?:\/\w|["'`])/,
    say: 'a path of one machine; make it relative, or ask the system',
    covers: (path) => !path.endsWith('.jsonl'), // a recorded session tells of the machine it ran on
  }),
  lineRule({
    name: 'no-registry-host',
    pattern: /registry\.(?:npmjs|yarnpkg|npmmirror)\.|\b(?:deb|security)\.debian\.org/,
    say: 'which registry serves is up to whoever installs',
  }),
]
