import { ANY, type Charset, negateCharset } from './charset.ts';

/** The set behind `\p{name}`: a general category or a script, as Go names them; undefined when there is none of that name. */
export function unicodeClass(name: string): Charset | undefined {
  const canonical = canonicalName(name);
  const known = CLASSES.get(canonical);
  if (known) return known;
  const property = propertyOf(canonical);
  if (property === undefined) return undefined;
  const set = scan(property);
  CLASSES.set(canonical, set);
  return set;
}

// Tables of Unicode, created when they are first needed: constants, however many patterns share them.
const CLASSES = new Map<string, Charset>([
  ['Any', ANY],
  ['Ascii', [0, 0x7f]],
]);

/** Case, underscores, spaces and dashes do not count: `\p{greek}` is `\p{Greek}`. */
function canonicalName(name: string): string {
  const bare = name.replace(/[_\- ]/g, '');
  return bare.charAt(0).toUpperCase() + bare.slice(1).toLowerCase();
}

const CATEGORY = /^(L[Cultmo]?|M[nce]?|N[dlo]?|P[cdseifo]?|S[mcko]?|Z[slp]?|C[cfsonu]?|Assigned)$/i;

function propertyOf(canonical: string): RegExp | undefined {
  if (CATEGORY.test(canonical)) {
    const category = canonical === 'Lc' ? 'LC' : canonical;
    return new RegExp(`\\p{${category}}`, 'u');
  }
  const words = WORDS[canonical] ?? canonical.replace(/_([a-z])/g, (_, letter: string) => `_${letter.toUpperCase()}`);
  for (const property of [`Script=${words}`, `gc=${words}`]) {
    try {
      return new RegExp(`\\p{${property}}`, 'u');
    } catch {
      // Not a name of that property.
    }
  }
  return undefined;
}

// Names of several words, which JavaScript wants with their underscores.
const WORDS: Readonly<Record<string, string>> = Object.fromEntries(
  (
    'Anatolian_Hieroglyphs Canadian_Aboriginal Caucasian_Albanian Cypro_Minoan Dives_Akuru Egyptian_Hieroglyphs ' +
    'Gunjala_Gondi Hanifi_Rohingya Imperial_Aramaic Inscriptional_Pahlavi Inscriptional_Parthian Khitan_Small_Script ' +
    'Kirat_Rai Linear_A Linear_B Masaram_Gondi Meetei_Mayek Mende_Kikakui Meroitic_Cursive Meroitic_Hieroglyphs ' +
    'New_Tai_Lue Nyiakeng_Puachue_Hmong Ol_Chiki Ol_Onal Old_Hungarian Old_Italic Old_North_Arabian Old_Permic ' +
    'Old_Persian Old_Sogdian Old_South_Arabian Old_Turkic Old_Uyghur Pahawh_Hmong Pau_Cin_Hau Phags_Pa ' +
    'Psalter_Pahlavi Sora_Sompeng Sylheti_Nagri Syloti_Nagri Tai_Le Tai_Tham Tai_Viet Warang_Citi Zanabazar_Square ' +
    'Cased_Letter Close_Punctuation Connector_Punctuation Currency_Symbol Dash_Punctuation Decimal_Number ' +
    'Enclosing_Mark Final_Punctuation Initial_Punctuation Letter_Number Line_Separator Lowercase_Letter Math_Symbol ' +
    'Modifier_Letter Modifier_Symbol Nonspacing_Mark Open_Punctuation Other_Letter Other_Number Other_Punctuation ' +
    'Other_Symbol Paragraph_Separator Private_Use Space_Separator Spacing_Mark Titlecase_Letter Uppercase_Letter'
  )
    .split(' ')
    .map((name) => [name.charAt(0) + name.slice(1).replaceAll('_', '').toLowerCase(), name]),
);

// Planes 4 to 13 are empty, so that one code point answers for all of them.
const SCANNED: readonly (readonly [from: number, to: number])[] = [
  [0, 0x3ffff],
  [0xe0000, 0xe0fff],
  [0xf0000, 0xf0000],
  [0xffffe, 0xfffff],
  [0x100000, 0x100000],
  [0x10fffe, 0x10ffff],
];

function scan(property: RegExp): Charset {
  const set: number[] = [];
  let isIn = false;
  const enter = (code: number): void => {
    if (property.test(String.fromCodePoint(code)) === isIn) return;
    isIn = !isIn;
    set.push(isIn ? code : code - 1);
  };
  for (const [from, to] of SCANNED) {
    for (let code = from; code <= to; code++) enter(code);
    if (to === 0x3ffff || to === 0xe0fff) enter(to + 1);
  }
  if (isIn) set.push(0x10ffff);
  return property.source === '\\p{Any}' ? negateCharset([]) : set;
}
