/** What users write as Markdown. HTML in it is text, links go to http(s) only, images are links. */
import { createContext, type ReactElement, useContext } from "react";
import Markdown from "react-markdown";
import remarkGfm from "remark-gfm";
import { Boundary } from "@/widgets/boundary";
import classes from "@/widgets/markdown.module.css";
import { isDeep, nestsDeep } from "@/widgets/nesting";

const HTTP = /^https?:\/\//i;

/** Whether a text stands within a link: a link within it is none. */
const InLink = createContext(false);

/** What cannot be drawn, or nests deeper than anybody reads, is shown as it was written. */
export function MarkdownText(props: { text: string }): ReactElement {
  const { text } = props;
  const asWritten = <p className={classes.written}>{text}</p>;
  return (
    <div className={classes.markdown}>
      {nestsDeep(text) ? (
        asWritten
      ) : (
        <Boundary key={text} instead={asWritten}>
          <Drawn text={text} />
        </Boundary>
      )}
    </div>
  );
}

interface Tree {
  children: object[];
}

/** Marks within a line nest as well; how deep is known when they are parsed. */
function boundDepth() {
  return (tree: Tree, file: { toString: () => string }): void => {
    if (!isDeep(tree)) return;
    const text = { type: "text", value: file.toString() };
    const data = { hProperties: { className: [classes.written] } };
    tree.children = [{ type: "paragraph", data, children: [text] }];
  };
}

/** An image would be fetched from wherever the text says, and tell its owner who reads: it is named. */
function Drawn(props: { text: string }): ReactElement {
  return (
    <Markdown
      remarkPlugins={[remarkGfm, boundDepth]}
      urlTransform={(url) => (HTTP.test(url) ? url : "")}
      components={{
        // The page has a heading of its own: those of a text stand below it.
        h1: "h3",
        h2: "h4",
        h3: "h5",
        h4: "h6",
        h5: "h6",
        a: ({ href, children }) =>
          href === undefined || href === "" ? (
            <span>{children}</span>
          ) : (
            <a href={href} target="_blank" rel="noopener noreferrer nofollow">
              <InLink value>{children}</InLink>
            </a>
          ),
        // A box of a list of tasks has a name for those who do not see it.
        input: ({ checked }) => (
          <input
            type="checkbox"
            checked={checked === true}
            disabled
            aria-label={checked === true ? "done" : "to do"}
          />
        ),
        img: ({ src, alt }) => <NamedImage src={src} alt={alt} />,
      }}
    >
      {props.text}
    </Markdown>
  );
}

function NamedImage(props: { src: unknown; alt: string | undefined }): ReactElement {
  const { src, alt } = props;
  const name = alt === undefined || alt === "" ? "image" : alt;
  const isWithin = useContext(InLink);
  if (isWithin || typeof src !== "string" || src === "") return <span>{name}</span>;
  return (
    <a href={src} target="_blank" rel="noopener noreferrer nofollow">
      {name}
    </a>
  );
}
