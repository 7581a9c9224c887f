/** Keeps what fails while it is drawn in its own place: the rest of the page goes on. */
import { Component, type ReactNode } from "react";
import { Failure } from "@/widgets/failure";

interface Props {
  children: ReactNode;
  /** Stands in its place; without it what happened does. */
  instead?: ReactNode;
}

export class Boundary extends Component<Props, { error: unknown }> {
  override state: { error: unknown } = { error: null };

  static getDerivedStateFromError(error: unknown): { error: unknown } {
    return { error };
  }

  override render(): ReactNode {
    if (this.state.error === null) return this.props.children;
    if (this.props.instead !== undefined) return this.props.instead;
    return (
      <Failure
        error={this.state.error}
        onRetry={() => {
          this.setState({ error: null });
        }}
      />
    );
  }
}
